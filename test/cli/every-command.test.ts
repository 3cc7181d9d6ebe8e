import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Writable } from "node:stream";
import type { Command } from "commander";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EXAMPLES } from "../../src/cli/output/examples/examples.ts";
import { completeProgram, main, type Streams } from "../../src/cli/program.ts";
import { NOUNS } from "../../src/cli/registry.ts";
import { statedExits } from "../reference/ends.ts";
import { withServer } from "../support/tenant-text.ts";
import { type Leaf, LONG_RUNNING, leavesOf, NEEDS_STREAMS } from "./support/leaves.ts";
import { MAIN, operatorDirectory, pmctl, pmctlHere, type TestDirectory } from "./support/pmctl.ts";

const leaves = leavesOf(await completeProgram());
const exits = await statedExits();

function buffers(): { streams: Streams; text: () => { stdout: string; stderr: string } } {
  const seen = { stdout: "", stderr: "" };
  const sink = (name: keyof typeof seen) =>
    new Writable({
      write(chunk, _encoding, done) {
        seen[name] += String(chunk);
        done();
      },
    });
  return { streams: { stdin: process.stdin, stdout: sink("stdout"), stderr: sink("stderr") }, text: () => seen };
}

describe("help", () => {
  const nouns = NOUNS.map(([noun]) => [noun]);
  test.each([
    [[]],
    ...leaves.map(({ path }) => [path]),
    ...nouns.filter(([noun]) => !leaves.some(({ path }) => path.join(" ") === noun)).map((path) => [path]),
  ])("of %j is on stdout, names the global options with --all alone, ends with examples and with 0", async (path) => {
    const { streams, text } = buffers();
    expect(await main([...path, "--help"], streams)).toBe(0);
    expect(text().stderr).toBe("");
    expect(text().stdout).toContain(`Usage: pmctl ${path.join(" ")}`);
    expect(text().stdout).toMatch(/\nExamples:\n( {2}# .+\n| {2}\$ pmctl .+\n| {4}\S.*\n)+$/);
    expect(text().stdout.match(/^ {2}\$ pmctl /gm)?.length).toBeGreaterThan(1);
    expect(text().stdout).toContain("\nExit codes and error codes: pmctl help errors\n");
    const short = text().stdout;
    expect(await main([...path, "--help", "--all"], streams)).toBe(0);
    const whole = text().stdout.slice(short.length);
    for (const option of [
      "--tenant",
      "--output",
      "--via",
      "--url",
      "--reason",
      "--yes",
      "--no-input",
      "--quiet",
      "--no-color",
    ])
      expect([short, whole].map((shown) => new RegExp(`^  (-\\w, )?${option}\\b`, "m").test(shown))).toEqual([
        false,
        true,
      ]);
  });

  test.each(["--version", "version"])("%s is on stdout and ends with 0", async (word) => {
    const { streams, text } = buffers();
    expect(await main([word], streams)).toBe(0);
    expect(text()).toEqual({
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+ \(([0-9a-f]{7,40}|unknown)\)\n$/),
      stderr: "",
    });
  });

  test("of a verb that there is not says so above those that there are", async () => {
    const { streams, text } = buffers();
    expect(await main(["market", "pay", "--help"], streams)).toBe(0);
    expect(text().stdout).toMatch(/^pmctl market has no command pay; it has those below\.\n[\s\S]*settle \[id\]/);
  });

  test("a noun without its verb shows what there is, on stderr, and ends with 6", async () => {
    const { streams, text } = buffers();
    expect(await main(["market"], streams)).toBe(6);
    expect(text()).toEqual({ stdout: "", stderr: expect.stringContaining("settle [id]") });
  });

  test("--version loads neither schemas nor drivers nor prompts, because it must be quick", () => {
    const spy = `import { registerHooks } from "node:module";
      const loaded = new Set();
      registerHooks({ load(url, context, next) { loaded.add(url); return next(url, context); } });
      process.on("exit", () => process.stderr.write(JSON.stringify([...loaded])));`;
    const { stderr } = spawnSync(
      process.execPath,
      ["--import", `data:text/javascript,${encodeURIComponent(spy)}`, MAIN, "--version"],
      { encoding: "utf8" },
    );
    const packages = new Set(
      (JSON.parse(stderr) as string[]).flatMap((url) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []),
    );
    expect([...packages]).toEqual(["commander"]);
  });
});

test("every argument and option of every command says what it is", async () => {
  const silent = (command: Command): string[] =>
    [...command.registeredArguments, ...command.options]
      .filter(({ description }) => !description)
      .map((part) => `${command.name()} ${"flags" in part ? part.flags : part.name()}`)
      .concat(command.commands.flatMap(silent));
  expect(silent(await completeProgram())).toEqual([]);
});

describe("--fields ?", () => {
  test.each(leaves.map(({ path }) => [path.join(" "), path] as const))(
    "of %s lists its fields, without arguments and without a tenant",
    async (name, path) => {
      const { streams, text } = buffers();
      const code = await main([...path, "--fields", "?"], streams);
      // The one command that hands its streams to a program has none.
      if (NEEDS_STREAMS.includes(name)) expect({ code, ...text() }).toMatchObject({ code: 6, stdout: "" });
      else expect({ code, ...text() }).toEqual({ code: 0, stdout: expect.stringMatching(/^(\S+\n)+$/), stderr: "" });
    },
  );
});

describe("without anybody at the terminal", () => {
  let directory: TestDirectory;
  beforeAll(async () => {
    directory = await operatorDirectory();
    await pmctlHere(["init", "acme"], directory);
    const file = join(directory.cwd, "tenants/acme/tenant.yaml");
    // No foreign server on the usual ports may answer.
    await writeFile(file, withServer(await readFile(file, "utf8"), "port: 0, opsPort: 0, expected: true"));
    expect((await pmctlHere(["apply"], directory)).code).toBe(0);
  });
  afterAll(() => directory.remove());

  // What needs no argument runs as an example of its help.
  const isExample = (path: readonly string[]) => EXAMPLES.some(({ line }) => line === path.join(" "));
  const walked = leaves.filter(({ path }) => !LONG_RUNNING.includes(path.join(" ")) && !isExample(path));
  // What stops the database comes last; the others would only start it again.
  const last = ({ path }: Leaf) => Number(path.join(" ") === "db stop");

  test.each(walked.toSorted((a, b) => last(a) - last(b)).map((leaf) => [leaf.path.join(" "), leaf] as const))(
    "%s ends by itself, with data alone on stdout",
    async (name, { line }) => {
      const run = NEEDS_STREAMS.includes(name) ? pmctl : pmctlHere;
      const { code, stdout, stderr } = await run([...line, "-o", "json"], directory);
      expect(exits.get(name)).toContain(code);
      // Doctor ends with 1 for a check that fails, and says on stdout which.
      expect({ code, unexpected: code === 1 ? `${stderr}${stdout}` : "" }).toEqual({ code, unexpected: "" });
      if (name === "db shell") return;
      // An export is a line of JSON for each entry, whatever its length.
      for (const text of name === "audit export" ? stdout.trim().split("\n") : [stdout].filter(Boolean))
        JSON.parse(text);
      if (code !== 0) expect(JSON.parse(stderr.trim().split("\n").at(-1) ?? "")).toHaveProperty("code");
    },
  );

  test.each([
    ...[
      "validate",
      "render",
      "plan",
      "apply",
      "pull",
      "history",
      "tenant list",
      "tenant show",
      "key list",
      "doctor",
      "status",
      "inbox",
    ],
    ...[
      "oracle feeds",
      "oracle sources",
      "oracle check pm:btc",
      "oracle sweep",
      "db status",
      "db migrate",
      "db backup",
      "audit verify",
    ],
    "deploy render --target systemd",
    ...[
      "embed snippet",
      "embed messages",
      "embed check",
      "version",
      "completion bash",
      "help",
      "audit export --out e.ndjson",
      "init b",
    ],
  ])("what %s prints has the names that --fields ? lists", async (line) => {
    const words = line.split(" ");
    const { stdout } = await pmctlHere([...words, "-t", "acme", "-o", "ndjson"], directory);
    const rows = stdout.split("\n").filter(Boolean);
    const named = await pmctlHere([...words, "--fields", "?", "-o", "json"], directory);
    for (const row of rows)
      expect(JSON.parse(named.stdout)).toEqual(expect.arrayContaining(Object.keys(JSON.parse(row))));
    // After an apply and a backup there is nothing left to plan, and nothing that waits for a person.
    expect(rows.length > 0 || line === "plan" || line === "inbox").toBe(true);
  });
});
