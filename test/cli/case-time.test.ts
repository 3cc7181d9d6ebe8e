import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CaseResult, readTestedTenant, runCases } from "../../src/app/cases/run-case.ts";
import { tenantText } from "../config/support.ts";

const STEEL =
  "{ sources: { desk: { push: true } }, venues: { shop: { steel: { sources: [{ use: desk, id: s }], maxAge: 60s } } } }";

let folder: string;
beforeAll(async () => {
  const directory = await mkdtemp("/tmp/pmctl-case-time-");
  folder = join(directory, "tenants", "acme");
  await mkdir(join(folder, "tests"), { recursive: true });
  await mkdir(join(folder, "markets"));
  await writeFile(join(folder, "tenant.yaml"), tenantText({ oracle: STEEL, markets: "{ liquidityUsd: 250 }" }));
});
afterAll(() => rm(dirname(dirname(folder)), { recursive: true, force: true }));

/** What cases come to, by their names. */
async function run(text: string): Promise<CaseResult[]> {
  await writeFile(join(folder, "tests", "cases.yaml"), text);
  return runCases(readTestedTenant("acme", join(folder, "tenant.yaml")), () => true).map(({ result }) => result);
}

/** A case with a market that the price of steel decides at its closing time, two hours on. */
const steel = (steps: string, then = "") => `
name: steel
given:
  users: { ann: { balanceUsd: 100 } }
  markets: { dear: { closeAt: 2h, resolutionRef: "shop:steel > 700" } }
when:
${steps}
then:
  markets: { dear: { ${then} } }
`;

describe("what a server does by itself happens at its moment", () => {
  test.each([
    [
      "a price within its age decides the market two seconds after the instant",
      `  - { wait: 7150s }
  - { price: { feed: "shop:steel", value: 701 } }
  - { wait: 51s }
  - { sweep: {}, expect: { watched: 1, settled: [dear] } }`,
      "status: settled, outcome: yes",
    ],
    [
      "it does so without being asked, and nothing is left to look at",
      `  - { wait: 7150s }
  - { price: { feed: "shop:steel", value: 700 } }
  - { wait: 52s }
  - { sweep: {}, expect: { watched: 0, settled: [], held: [] } }`,
      "status: settled, outcome: no",
    ],
    [
      "a price at the instant itself counts, one after it does not",
      `  - { wait: 2h }
  - { price: { feed: "shop:steel", value: 701 } }
  - { wait: 1s }
  - { price: { feed: "shop:steel", value: 1 } }
  - { wait: 1m }`,
      "status: settled, outcome: yes",
    ],
    [
      "a price that is too old holds the market, which an operator settles",
      `  - { price: { feed: "shop:steel", value: 701 } }
  - { wait: 3h }
  - { sweep: {}, expect: { settled: [], held: [{ marketId: dear, reason: stale }] } }
  - { settle: { market: dear, outcome: no } }`,
      "status: settled, outcome: no",
    ],
    [
      "no price at all holds it too",
      `  - { wait: 3h }
  - { sweep: {}, expect: { held: [{ marketId: dear, reason: feed down }] } }`,
      "status: closed, outcome: null",
    ],
    [
      "a suspended market is left alone",
      `  - { suspend: dear }
  - { wait: 2h }
  - { price: { feed: "shop:steel", value: 701 } }
  - { wait: 1h }
  - { sweep: {}, expect: { watched: 0 } }
  - { resume: dear, expect: { refused: MARKET_CLOSED } }`,
      "status: closed",
    ],
    [
      "under an address that decides, prices settle nothing",
      `  - { policy: { resolution_url: "https://oracle.acme.example/{id}" } }
  - { wait: 2h }
  - { price: { feed: "shop:steel", value: 701 } }
  - { wait: 1h }`,
      "status: closed",
    ],
    [
      "trades end with the closing time, which the clock alone brings",
      `  - { wait: 7199s }
  - { trade: { user: ann, market: dear, side: yes, amountUsd: 1 } }
  - { wait: 1s }
  - { trade: { user: ann, market: dear, side: yes, amountUsd: 1 }, expect: { refused: MARKET_CLOSED } }`,
      "status: closed",
    ],
  ])("%s", async (_, steps, then) => {
    expect((await run(steel(steps, then))).map(({ failures }) => failures)).toEqual([[]]);
  });
});

describe("a market of a file", () => {
  const market = (key: string, rest = "") =>
    `key: ${key}\nquestion: Q?\ncategory: c\nkind: cpmm\np0: 0.3\ncloseAt: 2030-06-01T00:00:00Z\nresolutionRef: judge\n${rest}`;
  beforeAll(async () => {
    await writeFile(join(folder, "markets", "rain.yaml"), market("rain", "state: suspended\n"));
    const items = ["a", "b"].map((key) => `- ${market(key).trimEnd().replaceAll("\n", "\n  ")}\n`).join("");
    await writeFile(join(folder, "markets", "list.yaml"), items);
  });

  test("is as an apply would make it: its state, and the liquidity of the tenant file", async () => {
    const [ran] = await run(`
name: from the file
given:
  treasuryUsd: 1000
  markets: { rain: { file: markets/rain.yaml }, b: { file: markets/list.yaml, p0: 0.4 } }
when:
  - { resume: rain, expect: { status: open } }
then:
  markets: { rain: { yesPrice: 0.3 }, b: { status: open, yesPrice: 0.4 } }
  house: { treasuryUsd: 500 }
`);
    expect(ran?.failures).toEqual([]);
  });

  test.each([
    ["../outside.yaml", "is not a file below the tenant's folder"],
    ["markets/list.yaml", "holds 2 markets, and none has the key rain"],
    ["markets/none.yaml", "does not exist"],
  ])("that cannot be had from %s is a problem of the case", async (file, message) => {
    const text = `name: x\ngiven:\n  markets: { rain: { file: ${file} } }\n`;
    await expect(run(text)).rejects.toThrow(message);
  });

  test.each([
    ["rain: { file: markets/rain.yaml }", "rain.file", "2030-06-01T00:00:00.000Z"],
    ["rain: { closeAt: 2030-12-31T23:00:00-01:00 }", "rain.closeAt", "2031-01-01T00:00:00.000Z"],
  ])("that closes before the case begins is a problem of the case: %s", async (market, path, closing) => {
    const text = `name: x\nnow: 2031-01-01T00:00:00Z\ngiven: { markets: { ${market} } }\n`;
    await expect(run(text)).rejects.toThrow(
      `given.markets.${path}  the market closes at ${closing}, and the case begins at its \`now\`, 2031-01-01T00:00:00.000Z`,
    );
  });

  test("that the treasury cannot fund fails the case, and what would follow from it is not told", async () => {
    const [ran] = await run(`
name: refused
given:
  treasuryUsd: 10
  users: { ann: {} }
  markets: { snow: { liquidityUsd: 11 } }
when:
  - { trade: { user: ann, market: snow, side: yes, amountUsd: 1 } }
then:
  markets: { snow: { status: open } }
`);
    expect(ran?.failures).toEqual([
      {
        path: "given.markets.snow",
        line: 6,
        expected: null,
        actual: expect.stringMatching(/^TREASURY_INSUFFICIENT: /),
      },
    ]);
  });
});

test("one case leaves nothing to the next", async () => {
  const text =
    "name: twice\ngiven: { users: { ann: { balanceUsd: 5 }, bob: {} } }\nthen: { balances: { ann: 5, bob: 0 } }\n";
  expect((await run(`${text}---\n${text}`)).map(({ ok, line }) => [ok, line])).toEqual([
    [true, 1],
    [true, 5],
  ]);
});
