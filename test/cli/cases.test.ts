import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newOperator, type Operator } from "../support/operator.ts";

let operator: Operator;
beforeAll(async () => {
  operator = await newOperator({ cluster: "none" });
  await operator.run("init", "acme");
  await operator.run("init", "zoe");
  // Cases need no secrets.
  await rm(join(operator.directory, ".env"));
});
afterAll(() => operator?.close());

/** Puts these files into a tenant's folder, in place of those of the test before. */
async function write(tenant: string, files: Record<string, string>): Promise<void> {
  const folder = join(operator.directory, "tenants", tenant);
  await rm(join(folder, "tests"), { recursive: true, force: true });
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(folder, name, ".."), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}

interface Report {
  passed: number;
  failed: number;
  cases: { tenant: string; file: string; line: number; name: string; ok: boolean; ms: number; failures: object[] }[];
  coverage: { refusals: { code: string; cases: string[] }[]; rules: { name: string; evaluated: number }[] } | null;
}

async function run(...words: string[]): Promise<{ exitCode: number | undefined; stderr: string; report: Report }> {
  const { exitCode, stdout, stderr } = await operator.run("test", ...words, "-o", "json");
  return { exitCode, stderr, report: JSON.parse(stdout) as Report };
}

const LIMITS = `name: over the limit
now: 2030-01-01T00:00:00Z
given:
  policy: { maxTradeUsd: 100, feeBps: 0 }
  treasuryUsd: 100000
  users: { alice: { balanceUsd: 1000, kyc: passed, jurisdiction: GB, suitability: 18, restricted: false } }
  markets: { rain: { kind: lmsr, p0: 0.5, closeAt: 2h, category: x, resolutionRef: judge, liquidityUsd: 1000 } }
when:
  - { trade: { user: alice, market: rain, side: yes, amountUsd: 50 }, expect: { shares: 98.32502 } }
  - { trade: { user: alice, market: rain, side: yes, amountUsd: 101 }, expect: { refused: MAX_TRADE_EXCEEDED } }
  - { wait: 3h }
  - { settle: { market: rain, outcome: yes } }
then:
  balances: { alice: 1048.32502 }
  positions: {}
  markets: { rain: { status: settled } }
  house: { feesUsd: 0, resultUsd: -48.32502, treasuryUsd: 99951.67498 }
`;

const WRONG = `---
name: "<wrong> & more"
given:
  users: { bob: { balanceUsd: 10 }, cleo: { kyc: none } }
  markets: { rain: {} }
when:
  - trade: { user: bob, market: rain, side: no, amountUsd: 5 }
  - trade: { user: cleo, market: rain, side: no, amountUsd: 5 }
    expect: { refused: MARKET_CLOSED }
then:
  balances:
    bob: 4
`;

test("a tenant without cases passes", async () => {
  const { exitCode, report } = await run("acme");
  expect(exitCode).toBe(0);
  expect(report).toEqual({ passed: 0, failed: 0, cases: [], coverage: null });
});

describe("cases", () => {
  test("that come out as they expect: prices, limits, payouts and the house's result to the micro-dollar", async () => {
    await write("acme", { "tests/limits.yaml": LIMITS });
    const { exitCode, report } = await run();
    expect({ exitCode, report }).toEqual({
      exitCode: 0,
      report: {
        passed: 1,
        failed: 0,
        cases: [
          {
            ...{ tenant: "acme", file: "tenants/acme/tests/limits.yaml", line: 1, name: "over the limit" },
            ...{ ok: true, ms: expect.any(Number), failures: [] },
          },
        ],
        coverage: null,
      },
    });
  });

  test("that do not: each departure with its path, line and both values; it ends with 7", async () => {
    await write("acme", { "tests/limits.yaml": LIMITS + WRONG });
    const { exitCode, stderr, report } = await run("acme");
    expect(exitCode).toBe(7);
    expect(JSON.parse(stderr)).toMatchObject({ code: "CASE_FAILED", exit: 7 });
    expect(report).toMatchObject({ passed: 1, failed: 1 });
    expect(report.cases[1]).toMatchObject({ line: 19, ok: false });
    const unknown = { expected: null, actual: "JURISDICTION_UNKNOWN" };
    expect(report.cases[1]?.failures).toEqual([
      { path: "when[0].expect.refused", line: 24, ...unknown },
      { path: "when[1].expect.refused", line: 26, expected: "MARKET_CLOSED", actual: "KYC_REQUIRED" },
      { path: "then.balances.bob", line: 29, expected: 4, actual: 10 },
    ]);
  });

  test("for people: a line for each tenant, and each failure with its place", async () => {
    await write("zoe", { "tests/limits.yaml": LIMITS });
    const { exitCode, stdout, stderr } = await operator.run("test", "-o", "table");
    expect(exitCode).toBe(7);
    expect(stdout).toMatch(/^acme +1 passed, 1 failed, [\d.]+ ms\nzoe +1 passed, 0 failed, [\d.]+ ms$/);
    expect(stderr).toContain(
      "tenants/acme/tests/limits.yaml:29  <wrong> & more: then.balances.bob: expected 4, got 10",
    );
    expect(stderr).toContain("pmctl: 1 of 3 cases failed");
  });

  test("chosen by tenant and by name", async () => {
    expect((await run("z*")).report.cases.map(({ tenant }) => tenant)).toEqual(["zoe"]);
    expect((await run("--case", "over*")).report).toMatchObject({ passed: 2, failed: 0 });
    expect((await run("--case", "nothing")).exitCode).toBe(0);
  });

  test("as annotations and as JUnit XML, whose names are escaped", async () => {
    const { stdout } = await operator.run("test", "acme", "-o", "github", "--junit", "report.xml");
    expect(stdout.split("\n")[2]).toBe(
      "::error file=tenants/acme/tests/limits.yaml,line=29,col=1,title=CASE_FAILED::<wrong> & more: then.balances.bob: expected 4, got 10",
    );
    const sarif = JSON.parse((await operator.run("test", "acme", "-o", "sarif")).stdout);
    expect(sarif).toMatchObject({ version: "2.1.0", runs: [{ results: [{ ruleId: "CASE_FAILED" }, {}, {}] }] });
    const xml = await readFile(join(operator.directory, "report.xml"), "utf8");
    expect(xml).toContain('<testsuite name="acme" tests="2" failures="1"');
    expect(xml).toContain('name="&lt;wrong&gt; &amp; more" file="tenants/acme/tests/limits.yaml" line="19"');
    expect(xml).not.toContain("<wrong>");
  });

  test("tell which refusals and rules they met", async () => {
    await operator.edit("zoe", (text) => `${text}\nrules: [{ name: fees, expr: feeBps <= 300 }]\n`);
    const { report } = await run("zoe", "--coverage");
    expect(report.coverage?.rules).toEqual([{ name: "fees", evaluated: 1 }]);
    expect(report.coverage?.refusals).toContainEqual({ code: "MAX_TRADE_EXCEEDED", cases: ["over the limit"] });
    expect(report.coverage?.refusals).toContainEqual({ code: "KYC_REQUIRED", cases: [] });
  });

  test("compare of a position what they name of it: its side, its shares, or both", async () => {
    const scene = LIMITS.slice(0, LIMITS.indexOf("  - { wait"));
    const expected = ["{ side: yes }", "{ shares: 98.32502 }", "{ side: no }", "{ shares: 1 }"];
    const cases = expected.map((each) => `${scene}then: { positions: { alice: { rain: ${each} } } }\n`);
    await write("zoe", { "tests/held.yaml": cases.join("---\n") });
    const { report } = await run("zoe");
    expect(report.cases.flatMap(({ failures }) => failures)).toMatchObject([
      { path: "then.positions.alice.rain.side", expected: "no", actual: "yes" },
      { path: "then.positions.alice.rain.shares", expected: 1 },
    ]);
  });
});

describe("a bad case ends with 6 at its place, and nothing is run", () => {
  test.each([
    [
      "an unknown key",
      "trade: { usr: alice, market: rain, side: yes, amountUsd: 1 }",
      "when[0].trade.usr",
      'did you mean "user"?',
    ],
    ["an unknown step", "trad: { user: alice }", "when[0].trad", 'did you mean "trade"?'],
    ["two things in a step", "{ wait: 1h, suspend: rain }", "when[0].suspend", "each step does one thing"],
    [
      "an unknown refusal",
      "{ suspend: rain, expect: { refused: MARKET_CLOSE } }",
      "refused",
      'did you mean "MARKET_CLOSED"?',
    ],
    [
      "a result that a step does not have",
      "{ suspend: rain, expect: { share: 1 } }",
      "when[0].expect.share",
      "unknown key",
    ],
    ["an unknown feed", 'price: { feed: "pm:bct", value: 1 }', "when[0].price.feed", "did you mean pm:btc?"],
    [
      "no code of a refusal",
      "{ wait: 1h, expect: { refused: MAX_TRADE } }",
      "refused",
      'did you mean "MAX_TRADE_EXCEEDED"?',
    ],
    ["a code like none", "{ wait: 1h, expect: { refused: OOPS } }", "refused", "`pmctl help errors` lists them"],
    [
      "a user of no given",
      "trade: { user: alcie, market: rain, side: yes, amountUsd: 1 }",
      "when[0].trade.user",
      "given.users has no alcie; did you mean alice?",
    ],
    ["a market of no given", "suspend: rian", "when[0].suspend", "given.markets has no rian; did you mean rain?"],
    [
      "a name like none of given",
      "settle: { market: snow, outcome: yes }",
      "when[0].settle.market",
      "given.markets has no snow; it has rain",
    ],
    ["no duration", "wait: soon", "when[0].wait", "must be a duration such as 30s, 15m or 3h"],
  ])("%s", async (_, step, path, message) => {
    await write("zoe", {
      "tests/bad.yaml": `${LIMITS}---\nname: bad\ngiven: { users: { alice: {} }, markets: { rain: {} } }\nwhen:\n  - ${step}\n`,
    });
    const { exitCode, stdout, stderr } = await operator.run("test", "zoe", "-o", "table");
    expect([exitCode, stdout]).toEqual([6, ""]);
    expect(stderr).toContain("tenants/zoe/tests/bad.yaml:22:");
    expect(stderr).toContain(path);
    expect(stderr).toContain(message);
    expect(stderr.match(/bad\.yaml:/g)).toHaveLength(1);
  });

  test.each([
    ["balances: { alcie: 0 }", "then.balances.alcie", "given.users has no alcie; did you mean alice?"],
    ["positions: { alcei: {} }", "then.positions.alcei", "given.users has no alcei; it has alice"],
    [
      "positions: { alice: { rian: { side: yes, shares: 0 } } }",
      "then.positions.alice.rian",
      "given.markets has no rian; did you mean rain?",
    ],
    ["markets: { rian: {} }", "then.markets.rian", "given.markets has no rian; did you mean rain?"],
  ])("a name that given does not have, in then: %s", async (then, path, message) => {
    const text = `name: x\ngiven: { users: { alice: {} }, markets: { rain: {} } }\nthen: { ${then} }\n`;
    await write("zoe", { "tests/bad.yaml": text });
    const { exitCode, stderr } = await operator.run("test", "zoe", "-o", "table");
    expect([exitCode, stderr]).toEqual([6, expect.stringContaining(`${path}  ${message}`)]);
    expect(stderr).toContain("tenants/zoe/tests/bad.yaml:3:");
  });

  test("as annotations too", async () => {
    await write("zoe", { "tests/bad.yaml": "nam: x\n" });
    const { exitCode, stdout } = await operator.run("test", "-o", "github");
    expect(exitCode).toBe(6);
    expect(stdout).toContain("file=tenants/zoe/tests/bad.yaml,line=1,col=1,title=UNKNOWN_KEY::");
  });
});
