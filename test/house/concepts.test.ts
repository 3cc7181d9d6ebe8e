import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { auditLines, auditPreimage, GENESIS_HASH } from "../../src/domain/audit/audit-link.ts";
import { walkChain } from "../../src/domain/audit/chain-walk.ts";
import { auditHash, auditKey } from "../../src/domain/audit/seal.ts";
import { MARKET_KINDS, MARKET_MAKERS } from "../../src/domain/market/market-makers.ts";
import type { Pool } from "../../src/domain/market/pool.ts";
import { marketOf, openWorld, tradeOf, usd, type World } from "../engine/world.ts";
import { PlannedTenant } from "../plan/plan-world.ts";

const read = (name: string) => readFileSync(new URL(`../../docs/concepts/${name}`, import.meta.url), "utf8");

const micro = (amount: bigint) => (Number(amount) / 1e6).toFixed(6);
const dollars = (amount: bigint) => (Number(amount) / 1e6).toFixed(2);
const row = (...cells: string[]) => `| ${cells.join(" | ")} |`;

const OPENING = { fundMicro: usd(10), p0Ppm: 500_000 };

test.each(MARKET_KINDS)("the worked example of %s is what the market maker computes", (kind) => {
  const { open, buy, yesPrice } = MARKET_MAKERS[kind];
  const step = (name: string, pool: Pool) =>
    row(name, micro(pool.yesMicro), micro(pool.noMicro), yesPrice(OPENING, pool).toFixed(2));
  const opened = open(OPENING);
  const minted = { yesMicro: opened.yesMicro + usd(10), noMicro: opened.noMicro + usd(10) };
  const { pool, sharesMicro } = buy(OPENING, opened, "yes", usd(10));
  const page = read("market-makers.md");
  const steps = [step("open", opened), step("$10 mints pairs", minted), step(`${micro(sharesMicro)} YES leave`, pool)];
  expect(page).toContain(steps.join("\n"));
  expect(page).toContain(
    `The trader has ${micro(sharesMicro)} shares for $10: an average of ${(1e7 / Number(sharesMicro)).toFixed(3)}`,
  );
});

test.each(MARKET_KINDS)("the drawn price of %s is the market maker's, every two dollars", (kind) => {
  const { open, buy, yesPrice } = MARKET_MAKERS[kind];
  const points = Array.from({ length: 21 }, (_, index) => {
    const opened = open(OPENING);
    const pool = index === 0 ? opened : buy(OPENING, opened, "yes", usd(index * 2)).pool;
    return `${60 + index * 25},${Math.round((250 - (yesPrice(OPENING, pool) - 0.5) * 440) * 10) / 10}`;
  });
  expect(read("market-makers.svg")).toContain(`points="${points.join(" ")}"`);
});

/** An LMSR market of ten dollars in which alice buys YES for $10 and bob, if he does, NO for $5. */
function tradedWorld(): World {
  const world = openWorld({ feeBps: 100 });
  for (const trader of ["alice", "bob"]) world.fund(trader, 50);
  return world;
}
const createMarket = marketOf({ id: "rain", kind: "lmsr", liquidityMicro: usd(10) });
const aliceBuys = tradeOf({ marketId: "rain", traderId: "alice", amountMicro: usd(10) });
const bobBuys = tradeOf({ marketId: "rain", traderId: "bob", side: "no", amountMicro: usd(5) });

test("the transfers, balances and shares of the ledger's trade are those of the engine", () => {
  const world = tradedWorld();
  const page = read("ledger.md");
  const drafts = [world.run(createMarket).draft, world.run(aliceBuys).draft];
  for (const { debit, credit, amountMicro } of drafts.flatMap(({ transfers }) => transfers))
    expect(page).toContain(`| \`${debit}\` | \`${credit}\` | ${dollars(amountMicro)} |`);
  expect(page.match(/^\| `[^`]+` \| `[^`]+` \|/gm)).toHaveLength(3);
  for (const account of ["wallet:alice", "escrow:rain", "fees"])
    expect(page).toContain(row(`\`${account}\``, dollars(world.balance(account))));
  const pool = world.get("marketState", "rain");
  const [, position] = world.all("position")[0] ?? [];
  if (!pool || !position) throw new Error("The trade was not made");
  expect(page).toContain(
    `${micro(position.sharesMicro)} YES shares. The pool keeps ${micro(pool.yesMicro)} YES and ${micro(pool.noMicro)} NO.`,
  );
  expect(position.sharesMicro + pool.yesMicro).toBe(world.balance("escrow:rain"));
  expect(page).toContain(`So ${micro(pool.noMicro)} YES and ${micro(pool.noMicro)} NO exist`);
});

test("each outcome of the settlement's example pays what the engine pays", () => {
  const world = tradedWorld();
  const page = read("settlement.md");
  world.run(createMarket);
  for (const [user, trade] of [["alice", aliceBuys] as const, ["bob", bobBuys] as const]) {
    const { result } = world.run(trade);
    const { amountMicro, side, sharesMicro } = result;
    expect(page).toContain(row(user, `$${dollars(amountMicro)}`, side.toUpperCase(), micro(sharesMicro)));
  }
  expect(page).toContain(`The escrow holds $${dollars(world.balance("escrow:rain"))}`);
  for (const [outcome, winner] of [["yes", "alice"] as const, ["no", "bob"] as const]) {
    const { draft } = world.decide({ type: "settleMarket", marketId: "rain", outcome });
    const entry = draft.audit.find(({ type }) => type === "market.settled")?.payload as Record<string, string>;
    expect(page).toContain(
      row(outcome.toUpperCase(), winner, String(entry.paid), String(entry.returned), String(entry.houseResult)),
    );
  }
  expect(page).toContain(`The fees of $${dollars(world.balance("fees"))} are`);
});

test("the plan's example is what a plan says of those three values", () => {
  const tenant = new PlannedTenant();
  const file = (text: string) => ({ sections: { policy: text } });
  tenant.apply(file("{ feeBps: 100, maxTradeUsd: 500, maxUserExposureUsd: 9000 }"));
  tenant.put({ maxTradeUsd: 300, maxUserExposureUsd: 8000 });
  const { items } = tenant.plan(file("{ feeBps: 80, maxTradeUsd: 500, maxUserExposureUsd: 7000 }"));
  const rows = items.map(({ field, base, live, desired, kind }) =>
    row(`\`${field.replace("policy.", "")}\``, String(base), String(live), String(desired), kind),
  );
  expect(rows).toHaveLength(3);
  for (const line of rows) expect(read("apply.md")).toContain(line);
});

test("the chain's example has the hashes of its text, and verification says what the page quotes", async () => {
  const page = read("chain.md");
  const key = auditKey("correct horse battery staple");
  const linesOf = (seq: bigint, type: string, actor: string, payloadText: string) =>
    auditLines({ keyId: key.id, seq, ts: `2026-06-01T12:00:0${seq}.000Z`, type, actor, payloadText });
  const credit = linesOf(1n, "wallet.credited", "admin:ops", '{"amount":"50","provider":"operator","userId":"alice"}');
  const trade = linesOf(
    2n,
    "trade.executed",
    "user:alice",
    '{"amount":"10","fee":"0.1","marketId":"m1","shares":"15.716137","side":"yes","tradeId":"t1","userId":"alice","yesPriceAfter":"0.748261"}',
  );
  const first = { lines: credit, hash: auditHash(key, GENESIS_HASH, credit) };
  const second = { lines: trade, hash: auditHash(key, first.hash, trade) };
  expect(page).toContain(`\`\`\`text\n${auditPreimage(GENESIS_HASH, credit)}\n\`\`\``);
  expect(page).toContain(row("1", "`wallet.credited`", `\`${first.hash}\``));
  expect(page).toContain(row("2", "`trade.executed`", `\`${second.hash}\``));

  const head = { seq: 2n, hash: second.hash };
  const problemOf = async (entries: (typeof first)[]) => {
    const pages = async function* () {
      yield entries;
    };
    return (await walkChain(pages(), { keys: [key], head })).broken?.problem;
  };
  expect(await problemOf([first, second])).toBeUndefined();
  const altered = { ...first, lines: credit.replace('"50"', '"500"') };
  for (const entries of [[altered, second], [second], [first]])
    expect(page).toContain(`| \`${await problemOf(entries)}\` |`);
});
