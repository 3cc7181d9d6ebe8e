import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SeenValues } from "../../src/app/tenant/seen-values.ts";
import { completedCommands, completionScript, SHELLS, type Shell } from "../../src/cli/completion/shells.ts";
import { VALUE_KINDS, valuesLine, valuesOf } from "../../src/cli/completion/values.ts";
import { completeProgram } from "../../src/cli/program.ts";
import { newOperator, type Operator } from "../support/operator.ts";
import { MAIN, pmctl, pmctlHere } from "./support/pmctl.ts";

const MARKET =
  "--question Rain? --category x --kind lmsr --p0 0.5 --close-at 2096-01-01T00:00:00Z --resolution-ref press";

const commands = completedCommands(await completeProgram());

const isInstalled = async (shell: Shell) => (await execa(shell, ["-c", "exit"], { reject: false })).exitCode === 0;
const installed = await Promise.all(SHELLS.map(isInstalled));

describe("in bash", () => {
  let cwd = "";
  beforeAll(async () => {
    cwd = await mkdtemp("/tmp/pmctl-completion-");
    for (const tenant of ["acme", "zeta"]) await pmctlHere(["init", tenant], { cwd });
    await writeFile(join(cwd, "pmctl.bash"), completionScript("bash", commands));
    await new SeenValues(cwd, "acme").note({
      markets: ["rain", "mkt_1"],
      keys: ["ops"],
      users: ["ann", "$(id>run)", "--yes", "two words", "\u001b[31mred"],
    });
  });
  afterAll(() => rm(cwd, { recursive: true, force: true }));

  /** What bash offers for the last word. The words are those that bash itself makes of a line. */
  async function complete(...words: string[]): Promise<string[]> {
    const script = `
      pmctl() { ${process.execPath} ${MAIN} "$@"; }
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
    ["nouns", ["doc"], ["doctor", "docs"]],
    ["verbs", ["market", "set"], ["settle"]],
    ["verbs after a global option and its value", ["-t", "acme", "market", "su"], ["suspend"]],
    ["options of the command", ["market", "create", "--liq"], ["--liquidity"]],
    ["global options everywhere", ["market", "create", "--rea"], ["--reason"]],
    ["choices of an option", ["market", "create", "--kind", ""], ["cpmm", "lmsr"]],
    ["choices of a global option", ["market", "list", "-o", "n"], ["ndjson"]],
    ["choices after an equals sign", ["market", "list", "--output", "=", "ya"], ["yaml"]],
    ["the rest of a value with a colon", ["webhook", "send", "stripe", ":", "pa"], ["payment_intent.succeeded"]],
    ["choices of an argument", ["completion", "values", ""], [...VALUE_KINDS]],
    ["tenants as an argument", ["serve", ""], ["acme", "zeta"]],
    ["tenants as each of several arguments", ["validate", "acme", "z"], ["zeta"]],
    ["tenants of --tenant", ["market", "list", "--tenant", "a"], ["acme"]],
    ["markets by id and key", ["market", "show", "-t", "acme", ""], ["rain", "mkt_1"]],
    ["markets of an option", ["-t", "acme", "trade", "place", "--market", "r"], ["rain"]],
    ["users, and runs nothing that one holds", ["-t", "acme", "user", "show", ""], ["ann", "\\$\\(id\\>run\\)"]],
    ["keys", ["-t", "acme", "key", "rotate", ""], ["ops"]],
    ["no key where a new market's is named", ["-t", "acme", "market", "create", "--key", ""], []],
    ["policy fields with their sign", ["policy", "set", "fee"], ["feeBps="]],
    ["events", ["webhook", "send", "kyc.p"], ["kyc.passed"]],
    ["names of the reference", ["explain", "metric.pmctl_trades"], ["metric.pmctl_trades_total"]],
    ["nothing without a tenant where there are two", ["market", "show", ""], []],
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

describe("completion values", () => {
  let operator: Operator;
  const ask = (kind: string, ...rest: string[]) => operator.run("completion", "values", kind, ...rest);
  const run = async (line: string) => {
    const { exitCode, stdout, stderr } = await operator.run(...line.split(" "));
    expect({ exitCode, stderr: exitCode === 0 ? "" : stderr }).toEqual({ exitCode: 0, stderr: "" });
    return stdout;
  };
  beforeAll(async () => {
    operator = await newOperator();
    await run("init acme");
    await run("apply acme --yes");
    await run("funding credit --user ann --amount 5 --reason opening --new-user --yes");
  });
  afterAll(() => operator?.close());

  test("are what commands of the directory saw within the last minute, without secrets, for their owner alone", async () => {
    expect(await ask("markets")).toEqual({ exitCode: 0, stdout: "", stderr: "" });
    const created = await run(`market create ${MARKET} --key rain -o json`);
    const { key } = JSON.parse(await run("key create night --type public -o json"));
    await run("user list");
    expect((await ask("markets")).stdout.split("\n")).toEqual(["rain", JSON.parse(created).id]);
    expect((await ask("markets", "mkt_")).stdout).toBe(JSON.parse(created).id);
    expect([(await ask("keys")).stdout, (await ask("users", "a")).stdout]).toEqual(["night", "ann"]);
    const file = join(operator.directory, ".pmctl/completion/acme.json");
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readFile(file, "utf8")).not.toContain(key);
    // A minute later nothing of it is offered any more.
    const old = (await readFile(file, "utf8")).replace(/\d{13}/g, (at) => String(Number(at) - 61_000));
    await writeFile(file, old);
    for (const kind of ["markets", "keys", "users"]) expect((await ask(kind)).stdout).toBe("");
  });

  test("a refresh reads all of them where something answers, and starts nothing where nothing does", async () => {
    const values = await run("completion values keys --refresh");
    expect(values.split("\n")).toEqual(expect.arrayContaining(["night"]));
    expect((await ask("users")).stdout).toBe("ann");
    await run("db stop --yes");
    await writeFile(join(operator.directory, ".pmctl/completion/acme.json"), "no JSON");
    expect(await ask("users", "--refresh")).toEqual({ exitCode: 0, stdout: "", stderr: "" });
    expect(JSON.parse(await run("db status -o json"))).toMatchObject({ running: false });
  });

  test("only what is asked for as the scripts do is answered without the program", async () => {
    expect(valuesLine(["completion", "values", "markets", "", "-C", "d", "-t", "acme"])).toEqual({
      kind: "markets",
      prefix: "",
      directory: "d",
      tenant: "acme",
    });
    for (const line of ["completion bash", "completion values markts", "completion values users --help", "market list"])
      expect(valuesLine(line.split(" "))).toBeUndefined();
    expect(await valuesOf({ kind: "users", prefix: "", directory: "/nowhere/at/all" })).toEqual([]);
    const nowhere = await pmctl(["completion", "values", "tenants"], { cwd: "/" });
    expect(nowhere).toEqual({ code: 0, stdout: "", stderr: "" });
    expect((await ask("nosuch")).exitCode).toBe(6);
  });
});
