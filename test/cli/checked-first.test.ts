import { mkdtemp, readdir, rm } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { completeProgram } from "../../src/cli/program.ts";
import { leavesOf, NEEDS_STREAMS } from "./support/leaves.ts";
import { pmctlHere } from "./support/pmctl.ts";

const leaves = leavesOf(await completeProgram());
const NOWHERE = "/nowhere/at/all";

/** What is wrong with a line whatever the command does, and what the refusal names. */
const MISTAKES = [
  ["a field that is never printed", ["--fields", "nosuch"], "nosuch"],
  ["a format that does not exist", ["-o", "nosuch"], "nosuch"],
  ["a receipt that cannot be written", ["--receipt", `${NOWHERE}/receipt`], NOWHERE],
] as const;

describe("a mistake in the line ends with 6 before the command does anything", () => {
  let cwd: string;
  beforeAll(async () => {
    cwd = await mkdtemp("/tmp/pmctl-checked-");
  });
  afterAll(() => rm(cwd, { recursive: true, force: true }));

  /** Without a tenant a command that begins says that there is none, and `init` and `demo` leave files. */
  async function refuse(line: readonly string[], names: string): Promise<void> {
    const { code, stdout, stderr } = await pmctlHere(line, { cwd });
    expect({ code, stdout, stderr }).toEqual({ code: 6, stdout: "", stderr: expect.stringContaining(names) });
    expect(await readdir(cwd)).toEqual([]);
  }

  for (const [mistake, flags, names] of MISTAKES)
    test.each(leaves.map(({ path, line }) => [path.join(" "), line] as const))(`${mistake}: %s`, async (name, line) => {
      const isFieldOfNone = flags[0] === "--fields" && NEEDS_STREAMS.includes(name);
      await refuse([...line, ...flags], isFieldOfNone ? "prints no data" : names);
    });

  const writers = leaves.flatMap(({ path, line, options }) =>
    options.filter((option) => option === "--out" || option === "--junit").map((option) => ({ path, line, option })),
  );
  test.each(writers.map(({ path, line, option }) => [path.join(" "), option, line] as const))(
    "a file that cannot be written: %s %s",
    async (_, option, line) => {
      await refuse([...line, option, "/dev/null/file"], "/dev/null/file");
    },
  );

  test("the walk meets the commands that write files", () => {
    expect(writers.map(({ path }) => path.join(" "))).toEqual(
      expect.arrayContaining(["plan", "audit export", "db backup", "deploy render"]),
    );
  });
});
