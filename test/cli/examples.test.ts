import { globSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EXAMPLES, examplesOf } from "../../src/cli/output/examples/examples.ts";
import { completeProgram } from "../../src/cli/program.ts";
import { ExampleTenant, examplesOfPage, NOWHERE, reasonNotToRun } from "./support/examples.ts";
import { leavesOf } from "./support/leaves.ts";

const help = EXAMPLES.map(({ line }) => line);
const ROOT = new URL("../../", import.meta.url).pathname;
const pageAt = (file: string) => examplesOfPage(readFileSync(ROOT + file, "utf8"));
const handbook = pageAt("docs/guides/handbook.md");
// A test of the tour runs the other pages.
const guides = [
  ...new Set(["README.md", "docs/start/go-live.md", ...globSync("docs/guides/*.md", { cwd: ROOT })].flatMap(pageAt)),
];
const leaves = leavesOf(await completeProgram());

describe("every command", () => {
  test("has two examples", () => {
    const few = leaves.map(({ path }) => path.join(" ")).filter((path) => examplesOf(path, []).length < 2);
    expect(few).toEqual([]);
  });

  test("has them in 80 columns", () => {
    const wide = help.flatMap((line) => `  $ pmctl ${line}`.split("\n")).filter((line) => line.length > 80);
    expect(wide).toEqual([]);
  });
});

let tenant: ExampleTenant;
beforeAll(async () => {
  tenant = await ExampleTenant.open();
});
afterAll(() => tenant?.close());

// A restore ends the server, which the others need.
const isRestore = (line: string) => line.startsWith("db restore");

describe.each([
  ["the handbook", handbook.filter((line) => !isRestore(line))],
  ["another guide", guides.filter((line) => !handbook.includes(line) && !isRestore(line))],
  // A line that several have is run where it comes first.
  ["the help", help.filter((line) => ![...handbook, ...guides].includes(line))],
  ["a guide on restoring", guides.filter(isRestore)],
])("an example of %s", (page, lines) => {
  if (page === "the help") beforeAll(() => tenant.putBack());

  test.each(lines.filter((line) => reasonNotToRun(line) === undefined))("runs: pmctl %s", async (line) => {
    const { code, stdout, stderr } = await tenant.run(line);
    expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
    if (!/ -o (?!json)| > /.test(line)) JSON.parse(stdout);
  });

  const unrun = lines.flatMap((line) => {
    const reason = reasonNotToRun(line);
    return reason === undefined ? [] : [[line, reason] as const];
  });
  test.each(unrun)("is read and not run: pmctl %s (%s)", async (line) => {
    const { code, stderr } = await tenant.read(line);
    expect({ code, stderr }).toEqual({ code: 6, stderr: expect.stringContaining(`${NOWHERE} is not a directory`) });
  });
});
