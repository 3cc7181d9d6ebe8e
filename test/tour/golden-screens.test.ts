import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newOperator, type Operator } from "../support/operator.ts";
import { masked } from "./masks.ts";
import { redraw, type Step } from "./page.ts";
import { type Answers, TerminalRun } from "./terminal.ts";

const DOCS = new URL("../../docs/", import.meta.url).pathname;
const MAIN = new URL("../../src/cli/main.ts", import.meta.url).pathname;
const tour = (await readdir(join(DOCS, "tour"))).filter((name) => /^\d/.test(name)).sort();
const pages = ["start/first-market.md", ...tour.map((name) => `tour/${name}`)];

let operator: Operator;
let env: Record<string, string>;
let server: TerminalRun | undefined;
beforeAll(async () => {
  operator = await newOperator();
  const bin = join(operator.directory, ".pmctl", "bin");
  await mkdir(bin);
  await writeFile(join(bin, "ops.mjs"), AS_OPS);
  await writeFile(join(bin, "later.mjs"), LATER);
  const program = `#!/bin/sh\nexec '${process.execPath}' --import '${bin}/ops.mjs' $TOUR_CLOCK '${MAIN}' "$@"\n`;
  await writeFile(join(bin, "pmctl"), program, { mode: 0o755 });
  const { PATH = "", NODE_COMPILE_CACHE = "" } = process.env;
  env = {
    PATH: `${bin}:${PATH}`,
    HOME: operator.directory,
    USER: "ops",
    ...{ GIT_AUTHOR_NAME: "ops", GIT_AUTHOR_EMAIL: "ops@acme.example" },
    ...{ GIT_COMMITTER_NAME: "ops", GIT_COMMITTER_EMAIL: "ops@acme.example" },
    LC_ALL: "C.UTF-8",
    NO_COLOR: "1",
    PMCTL_PAGER: "cat",
    NODE_COMPILE_CACHE,
  };
});
afterAll(async () => {
  await server?.interrupt();
  await operator?.close();
});

/** What a person answers, by what the screen asks. */
const ANSWERS: Answers = [
  [/● No/, "y"],
  [/type\s+(mkt_\w+ \w+)[\s\S]*◆ {2}The market and the outcome/, "$1\r"],
  // The last of its choices leaves everything as it is.
  [/◆ {2}Act on/, "\u001b[A\r"],
];

/** Where the pages say that the server listens; here it is given any free port. */
const ADDRESS = "http://127.0.0.1:8080";
let address = ADDRESS;
/** What the lines of a page set for those that follow. */
let variables = "";

/** The last line of what a server prints once it listens. */
const SERVES = "a change survives";

/** Audit entries name the user of the machine: on every one the same. */
const AS_OPS = `
import os from "node:os";
import { syncBuiltinESMExports } from "node:module";
const { userInfo } = os;
os.userInfo = (...options) => ({ ...userInfo(...options), username: "ops" });
syncBuiltinESMExports();
`;

/** Two hours and a half: what the walk did so far is then "2 h ago", however long it took. */
const LATER = "const { now } = Date;\nDate.now = () => now.call(Date) + 9e6;\n";

test.each(pages)("the terminal shows what the page %s shows", async (name) => {
  const page = await readFile(join(DOCS, name), "utf8");
  await expect(await redraw(page, show)).toMatchFileSnapshot(join(DOCS, name));
});

async function show({ line, columns, isLater }: Step): Promise<string> {
  const surroundings = {
    cwd: operator.directory,
    columns,
    answers: ANSWERS,
    env: { ...env, TOUR_CLOCK: isLater ? `--import=${join(operator.directory, ".pmctl", "bin", "later.mjs")}` : "" },
  };
  return masked((await screenOf(line, surroundings)).replaceAll(address, ADDRESS));
}

async function screenOf(line: string, surroundings: ConstructorParameters<typeof TerminalRun>[1]): Promise<string> {
  if (line === "kill %1") {
    const screen = await server?.interrupt();
    server = undefined;
    return screen ?? "";
  }
  if (/^[A-Z]+=/.test(line)) {
    variables += `${line}\n`;
    return "";
  }
  if (!line.endsWith(" &"))
    return new TerminalRun(
      (line.includes("$MARKET") ? variables : "") + line.replaceAll(ADDRESS, address),
      surroundings,
    ).end();
  const started = new TerminalRun(`${line.slice(0, -2)} --port 0 --ops-port 0`, surroundings);
  const screen = await started.until(SERVES);
  address = /API +(\S+)/.exec(screen)?.[1] ?? ADDRESS;
  server = started;
  return screen;
}
