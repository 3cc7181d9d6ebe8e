import { describe, expect, test } from "vitest";
import { runHelp, runHelpErrors } from "../../src/cli/commands/help.ts";
import { EXIT_MEANINGS } from "../../src/cli/errors.ts";
import { TOPICS } from "../../src/cli/output/help-topics.ts";
import { completeProgram } from "../../src/cli/program.ts";
import { HELP_GROUPS, helpGroupOf, NOUNS } from "../../src/cli/registry.ts";
import { FAULT_CODES, Fault } from "../../src/domain/fault.ts";
import { end, testIo } from "./support/io.ts";

const program = await completeProgram();

async function help(...words: string[]) {
  const io = testIo();
  return end(io, () => runHelp({ words }, program, io));
}

describe("help exit-codes", () => {
  test("explains the code that each refusal ends with", () => {
    const untold = FAULT_CODES.filter((code) => !Object.hasOwn(EXIT_MEANINGS, new Fault(code, "").exitCode));
    expect(untold).toEqual([]);
  });

  test("names every error code beside its exit code", async () => {
    const { stdout } = await help("exit-codes");
    for (const code of FAULT_CODES) expect(stdout).toMatch(new RegExp(`\\b${code}\\b`));
  });
});

test.each(Object.keys(TOPICS))("help %s fits 80 columns and ends with 0", async (topic) => {
  const { exit, stdout, stderr } = await help(topic);
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: "" });
  expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([]);
});

test("help of a command is what its --help prints, with its notes and examples", async () => {
  const { stdout } = await help("db", "backup");
  expect(stdout).toContain("The file is authenticated with the tenant's audit key");
  expect(stdout).toMatch(/\nExamples:\n {2}\$ pmctl db backup\n.*\n$/);
});

test("help of a command is the command's own", async () => {
  const { exit, stdout } = await help("market", "settle");
  expect(exit).toBe(0);
  expect(stdout).toContain("Usage: pmctl market settle");
  expect(stdout).toContain("\nExit codes and error codes: pmctl help errors\n");
});

test("a command that needs a reason lists --reason among its options, and no other command does", async () => {
  for (const words of [
    "market settle",
    "funding approve",
    "freeze",
    "policy set",
    "audit accept-rollback",
    "webhook send",
  ])
    expect((await help(...words.split(" "))).stdout, words).toContain("\n  --reason <text>");
  expect((await help("market", "show")).stdout).not.toContain("--reason");
});

test("a list of commands shows which arguments may be left out", async () => {
  const { stdout } = await help("db");
  expect(stdout).toContain("backup [file]");
  expect(stdout).toContain("restore <file>");
});

test("help alone lists the commands and the topics", async () => {
  const { stdout } = await help();
  for (const name of ["doctor", "why", "exit-codes", "environment", "formats", "yaml"]) expect(stdout).toContain(name);
});

test("commands are listed in the order of an operator's work: first files, then live state, then records", async () => {
  const { stdout } = await help();
  const order = [
    "init",
    "validate",
    "plan",
    "apply",
    "drift",
    "serve",
    "market",
    "report",
    "risk",
    "hedge",
    "audit",
    "reconcile",
  ];
  const places = order.map((name) => stdout.indexOf(`\n  ${name} `));
  expect(places).toEqual(places.toSorted((a, b) => a - b));
});

test("help on what is not there says what is, and ends with 5", async () => {
  const { exit, stderr } = await help("exit-code");
  expect(exit).toBe(5);
  expect(stderr).toContain('There is no help on "exit-code"');
  expect(stderr).toContain("did you mean exit-codes?");
  expect((await help("market", "pay")).stderr).toContain("there is on: list");
});

describe("help errors", () => {
  const errors = async (code?: string) => {
    const io = testIo();
    return end(io, () => runHelpErrors(code, io));
  };

  test("explains each code with its status, its exit code and what to try", async () => {
    const listed = JSON.parse((await errors()).stdout);
    expect(listed.map(({ code }: { code: string }) => code)).toEqual(FAULT_CODES);
    expect(JSON.parse((await errors("market_suspended")).stdout)).toEqual({
      code: "MARKET_SUSPENDED",
      status: 400,
      exit: 7,
      meaning: "the market is suspended",
      next: "pmctl story <market>",
    });
  });

  test("names the nearest to one that is not there, and ends with 5", async () => {
    const { exit, stderr } = await errors("MARKET_CLOSE");
    expect({ exit, stderr }).toEqual({ exit: 5, stderr: expect.stringContaining("did you mean MARKET_CLOSED?") });
  });
});

test("every command is in one group of pmctl --help, and the groups follow the order of an operator's work", async () => {
  expect(NOUNS.filter(([noun]) => helpGroupOf(noun) === undefined)).toEqual([]);
  const { stdout } = await help();
  const places = HELP_GROUPS.map((heading) => stdout.indexOf(`\n${heading}\n`));
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect(places).not.toContain(-1);
});
