import { describe, expect, test } from "vitest";
import { FAMILY_NAMES } from "../../src/app/docs/reference.ts";
import { runHelp, runHelpErrors } from "../../src/cli/commands/help.ts";
import { runExplain } from "../../src/cli/config/explain.ts";
import { EXIT_MEANINGS } from "../../src/cli/errors.ts";
import { TOPICS } from "../../src/cli/output/help-topics.ts";
import { completeProgram } from "../../src/cli/program.ts";
import { HELP_GROUPS, helpGroupOf, NOUNS } from "../../src/cli/registry.ts";
import { FILES } from "../../src/config/schema/schema-keys.ts";
import { webhookEventTypes } from "../../src/contract/resources/webhooks.ts";
import { AUDIT_TYPES } from "../../src/domain/audit/sentence.ts";
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

test("the help of a command that needs a reason names --reason, which is listed with --all alone", async () => {
  for (const words of [
    "market settle",
    "funding approve",
    "freeze",
    "policy set",
    "audit accept-rollback",
    "webhook send",
  ])
    expect((await help(...words.split(" "))).stdout, words).toContain("--reason");
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
      remedy: "Wait until the operator resumes it: `pmctl market resume`.",
      next: "pmctl story <market>",
    });
  });

  test("names the nearest to one that is not there, and ends with 5", async () => {
    const { exit, stderr } = await errors("MARKET_CLOSE");
    expect({ exit, stderr }).toEqual({ exit: 5, stderr: expect.stringContaining("did you mean MARKET_CLOSED?") });
  });
});

describe("explain", () => {
  const explain = async (path?: string, format: "json" | "table" = "json") => {
    const io = testIo({ format });
    return end(io, () => runExplain(path, io));
  };
  const entry = async (path: string) => JSON.parse((await explain(path)).stdout);

  test("has every error code, audit type and webhook event", async () => {
    const names = async (family: string) => (await entry(family)).keys.map(({ path }: { path: string }) => path);
    expect(await names("error")).toEqual(FAULT_CODES.map((code) => `error.${code}`));
    expect(await names("audit")).toEqual(expect.arrayContaining(AUDIT_TYPES.map((type) => `audit.${type}`)));
    expect(await names("event")).toEqual(webhookEventTypes.map((type) => `event.${type}`));
    expect((await names("metric")).length).toBeGreaterThan(25);
  });

  test("prints what the pages of the reference say of a name; a code needs no family", async () => {
    const code = await entry("insufficient_funds");
    expect(code).toEqual(await entry("error.INSUFFICIENT_FUNDS"));
    expect(code).toMatchObject({ path: "error.INSUFFICIENT_FUNDS", type: "error code" });
    expect(code.description).toMatch(
      /^The wallet .*\n\nHTTP status 400 · exit code 7 .*\n\nNext: pmctl user show <user>$/s,
    );
    const payouts = { path: "payouts", type: "number", description: "How many positions were paid more than 0." };
    expect((await entry("audit.market.settled")).keys).toContainEqual(expect.objectContaining(payouts));
    expect((await entry("event.order.filled")).examples).toEqual([expect.objectContaining({ type: "order.filled" })]);
    expect(await entry("metric.pmctl_trades_total")).toMatchObject({ type: "counter", keys: [{ path: "result" }] });
    expect((await explain("audit.market.settled", "table")).stdout).toContain(
      "\n  payouts      number\n      How many positions were paid more than 0.\n",
    );
  });

  test("lists without a name what names begin with", async () => {
    const listed = JSON.parse((await explain()).stdout);
    expect(listed.map(({ path }: { path: string }) => path)).toEqual([...Object.keys(FILES), ...FAMILY_NAMES]);
    for (const { description } of listed) expect(description).toMatch(/^[A-Z].+\.$/);
  });

  test.each([
    ["error.KYC_REQUIRE", "There is no name error.KYC_REQUIRE; did you mean error.KYC_REQUIRED?"],
    ["KYC_REQUIRE", "did you mean error.KYC_REQUIRED?"],
    ["audit.market.setled", "did you mean audit.market.settled?"],
    ["market.settled", "did you mean audit.market.settled or event.market.settled?"],
    ["metric.nonsense", "There is no name metric.nonsense; pmctl explain metric lists them"],
    ["policy.feeBp", "did you mean tenant.policy.feeBps?"],
    ["nonsense", "There is no name nonsense; pmctl explain lists what there is"],
  ])("answers the unknown name %s with: %s", async (path, hint) => {
    const { exit, stderr } = await explain(path);
    expect({ exit, stderr }).toEqual({ exit: 5, stderr: expect.stringContaining(hint) });
  });
});

test("every command is in one group of pmctl --help, and the groups follow the order of an operator's work", async () => {
  expect(NOUNS.filter(([noun]) => helpGroupOf(noun) === undefined)).toEqual([]);
  const { stdout } = await help();
  const places = HELP_GROUPS.map((heading) => stdout.indexOf(`\n${heading}\n`));
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect(places).not.toContain(-1);
});
