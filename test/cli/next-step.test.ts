import { expect, test } from "vitest";
import { completedCommands } from "../../src/cli/completion/shells.ts";
import { errorRecord, hintsFor } from "../../src/cli/errors.ts";
import { completeProgram } from "../../src/cli/program.ts";
import { FAULT_CODES, Fault, faultFacts } from "../../src/domain/fault.ts";
import { testIo } from "./support/io.ts";

const commands = completedCommands(await completeProgram());
const globals = commands[0]?.options.flatMap(({ flags }) => flags) ?? [];

const nextSteps = FAULT_CODES.flatMap((code) => {
  const { next } = faultFacts(code);
  return next === undefined ? [] : [[code, next] as const];
});

test.each(nextSteps)("what %s hints at exists, with every option that is named", (_code, hint) => {
  const lines = hint.split(/; |, then /).filter((line) => line.startsWith("pmctl "));
  expect(lines.length).toBeGreaterThan(0);
  for (const line of lines) {
    const words = line.split(" ").slice(1);
    const command = commands.filter(({ path }) => path !== "" && `${words.join(" ")} `.startsWith(`${path} `)).at(-1);
    expect(command, line).toBeDefined();
    const known = [...globals, ...(command?.options.flatMap(({ flags }) => flags) ?? [])];
    for (const option of words.filter((word) => word.startsWith("--"))) expect(known, line).toContain(option);
  }
});

test("no hint lifts a rule; for an identity check alone it names the command that a person confirms in the provider's place", () => {
  for (const [, hint] of nextSteps)
    expect(hint).not.toMatch(
      / (send(?! kyc\.passed .*--as-provider)|release|resume|approve|credit|settle|set|apply|revoke|create)\b/,
    );
});

test("a person at a terminal reads what to try next; a script reads the message alone", () => {
  const refusal = new Fault("MARKET_NOT_FOUND", "Market not found");
  const [person, script] = [testIo({ terminal: 80 }), testIo()];
  expect([person, script].map(({ output }) => output.fail(refusal))).toEqual([5, 5]);
  expect(person.stderr.text).toBe("pmctl: Market not found\nNext: pmctl market list\n");
  expect(script.stderr.text).toBe("pmctl: Market not found\n");
});

test("a hint is ready to be pasted: it names the tenant, the user and the market of the line, or is not given", () => {
  const restricted = new Fault("ACCOUNT_RESTRICTED", "The account is restricted", { detail: { requestId: "req_1" } });
  expect(errorRecord(restricted, { tenant: "acme", user: "o'neil" })).toEqual({
    error: "The account is restricted",
    code: "ACCOUNT_RESTRICTED",
    requestId: "req_1",
    exit: 4,
    fix: "pmctl -t acme user story 'o'\\''neil'",
  });
  expect(hintsFor(restricted, { directory: "/srv/a b" })).toBe("Why: pmctl -C '/srv/a b' why req_1\n");
  expect(errorRecord(restricted).fix).toBeNull();
  const suspended = new Fault("MARKET_SUSPENDED", "Market is suspended");
  expect(errorRecord(suspended, { market: "mkt_1" }).fix).toBe("pmctl story mkt_1");
});

test("a step that does not help in this place is not given", () => {
  const ofTenant = new Fault("INTEGRITY", "The ledger does not add up");
  expect(hintsFor(ofTenant, { tenant: "acme" })).toBe(
    "Next: pmctl -t acme reconcile --explain; pmctl -t acme audit verify\n",
  );
  const ofFile = new Fault("INTEGRITY", "The backup is damaged", { next: null });
  expect([hintsFor(ofFile), errorRecord(ofFile).fix]).toEqual(["", null]);
});

test("an error that is no refusal hints at nothing", () => {
  expect(hintsFor(new Error("boom"))).toBe("");
  expect(hintsFor(new Fault("AMOUNT_TOO_SMALL", "Too small"))).toBe("");
});
