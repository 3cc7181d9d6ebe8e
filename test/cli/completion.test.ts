import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { completionScript, SHELLS, type Shell } from "../../src/cli/completion/shells.ts";
import { completedCommands } from "../../src/cli/completion/tree.ts";
import { completeProgram } from "../../src/cli/program.ts";
import { pmctlHere } from "./support/pmctl.ts";

const commands = completedCommands(await completeProgram());

const isInstalled = async (shell: Shell) => (await execa(shell, ["-c", "exit"], { reject: false })).exitCode === 0;
const installed = await Promise.all(SHELLS.map(isInstalled));

describe("in bash", () => {
  let cwd = "";
  beforeAll(async () => {
    cwd = await mkdtemp("/tmp/pmctl-completion-");
    for (const tenant of ["acme", "zeta"]) await pmctlHere(["init", tenant], { cwd });
    await writeFile(join(cwd, "pmctl.bash"), completionScript("bash", commands));
  });
  afterAll(() => rm(cwd, { recursive: true, force: true }));

  /** What bash offers for the last word. The words are those that bash itself makes of a line. */
  async function complete(...words: string[]): Promise<string[]> {
    const script = `
      source ./pmctl.bash
      COMP_WORDS=("$@")
      COMP_CWORD=$(($# - 1))
      handler=$(complete -p pmctl | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
      "$handler" pmctl "\${COMP_WORDS[COMP_CWORD]}" "\${COMP_WORDS[COMP_CWORD - 1]}"
      printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = await execa("bash", ["--norc", "-c", script, "bash", "pmctl", ...words], { cwd });
    expect(stderr).toBe("");
    return stdout.split("\n").filter((line) => line !== "");
  }

  test.each<[string, string[], string[]]>([
    ["nouns", ["doc"], ["doctor"]],
    ["verbs", ["market", "se"], ["settle"]],
    ["verbs after a global option and its value", ["-t", "acme", "market", "su"], ["suspend"]],
    ["options of the command", ["market", "create", "--liq"], ["--liquidity"]],
    ["global options everywhere", ["market", "create", "--rea"], ["--reason"]],
    ["choices of an option", ["market", "create", "--kind", ""], ["cpmm", "lmsr"]],
    ["choices of a global option", ["market", "list", "-o", "n"], ["ndjson"]],
    ["choices after an equals sign", ["market", "list", "--output", "=", "ya"], ["yaml"]],
    ["choices of an argument", ["completion", ""], ["bash", "zsh", "fish"]],
    ["tenants as an argument", ["serve", ""], ["acme", "zeta"]],
    ["tenants as each of several arguments", ["validate", "acme", "z"], ["zeta"]],
    ["tenants of --tenant", ["market", "list", "--tenant", "a"], ["acme"]],
    ["nothing where only the operator knows", ["market", "create", "--question", ""], []],
  ])("completes %s", async (_, words, expected) => {
    expect(await complete(...words)).toEqual(expected);
  });

  test("offers every command of the program", async () => {
    const [program] = commands;
    expect((await complete("")).toSorted()).toEqual(program?.verbs.map(({ name }) => name).toSorted());
  });
});

test.each(SHELLS.map((shell, index) => [shell, installed[index] ?? false] as const))(
  "the script for %s is sound (read by the shell itself: %s)",
  async (shell, isHere) => {
    const script = completionScript(shell, commands);
    if (isHere) expect((await execa(shell, ["-n"], { input: script, reject: false })).stderr).toBe("");
    expect(script).not.toMatch(/undefined|\[object/);
    // Quotes and brackets that do not close break the operator's shell at its start.
    const code = script.replace(/^#.*$/gm, "");
    if (shell === "fish")
      expect(code.replace(/\\'/g, "").match(/'/g)?.length ?? 0).toSatisfy((n: number) => n % 2 === 0);
    const count = (pattern: RegExp) => code.match(pattern)?.length ?? 0;
    if (shell === "fish") expect(count(/^function /gm)).toBe(count(/^end$/gm));
    else {
      expect(count(/\bcase .* in$/gm)).toBe(count(/^\s*esac$/gm));
      expect(count(/^\s*if .*then$/gm)).toBe(count(/^\s*fi$/gm));
    }
    for (const word of ["settle", "--kind", "tenants"]) expect(script).toContain(word.replace(/^--/, ""));
  },
);

test("the command prints the script as it stands, also in a pipe", async () => {
  const { code, stdout, stderr } = await pmctlHere(["completion", "bash"], { cwd: "/tmp" });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toBe(completionScript("bash", commands));
});

test("an unknown shell is bad usage that names the known ones", async () => {
  const { code, stderr } = await pmctlHere(["completion", "tcsh"], { cwd: "/tmp" });
  expect(code).toBe(6);
  expect(stderr).toContain("bash, zsh, fish");
});
