import { expect } from "vitest";
import type { Sql } from "../../src/postgres/connect.ts";
import { reconcileLedger } from "../../src/queries/reconcile/reconcile.ts";
import { config, DOLLAR, deposit, KEY, type Live, market, openLive, sale, trade } from "./sequencer/live.ts";

export const HEDGE = { symbol: "BTC", direction: "long", notional: 500, externalRef: "x-1" } as const;

/** A ledger with something of everything that the checks look at. */
export async function openLedger(): Promise<Live> {
  const live = await openLive();
  await live.run(config());
  for (const id of ["m1", "m2", "old"]) await live.run(market(id, { kind: id === "m2" ? "lmsr" : "cpmm" }));
  for (const traderId of ["ann", "bob"]) await live.run(deposit(traderId, 100n * DOLLAR, `tx-${traderId}`));
  await live.run({ ...trade("m2", "ann", { id: "hedged", amountMicro: 2n * DOLLAR }), hedgeRef: HEDGE });
  for (const marketId of ["m1", "m2", "old"]) {
    await live.run(trade(marketId, "ann", { id: `${marketId}-ann`, side: "yes", amountMicro: 7n * DOLLAR }));
    await live.run(trade(marketId, "bob", { id: `${marketId}-bob`, side: "no", amountMicro: 5n * DOLLAR }));
  }
  await live.run(sale("m1", "ann", { id: "m1-sale", side: "yes", sharesMicro: 2n * DOLLAR }));
  for (const id of ["c1", "c2"]) await live.run({ type: "clarifyMarket", marketId: "old", id, text: `Text ${id}` });
  await live.run({ type: "settleMarket", marketId: "old", outcome: "yes" });
  for (const id of ["w1", "w2"])
    await live.run({ type: "requestWithdrawal", id, traderId: "bob", amountMicro: 10n * DOLLAR });
  await live.run({ type: "decideWithdrawal", id: "w2", traderId: "bob", approve: true });
  return live;
}

/** The differences that the checks find after the database's owner has changed the ledger. */
export async function foundIn(live: Live, tamper: (sql: Sql) => PromiseLike<unknown>): Promise<Record<string, bigint>> {
  const undone = new Error("undone");
  let differences: Record<string, bigint> = {};
  const attempt = live.owner.begin(async (transaction) => {
    const sql = transaction as unknown as Sql;
    await tamper(sql);
    const checks = await reconcileLedger(sql, [KEY]);
    differences = Object.fromEntries(
      checks.filter(({ differenceMicro }) => differenceMicro !== 0n).map((each) => [each.name, each.differenceMicro]),
    );
    throw undone;
  });
  await expect(attempt).rejects.toBe(undone);
  return differences;
}

/** Changes past the services of the ledger above, and what reconciliation finds of each: checks, with amounts where they are the same in every run. */
export const TAMPERS: readonly [what: string, statement: string, found: Record<string, bigint> | string[]][] = [
  ["a wallet", "update account set balance_micro = balance_micro + 3 where id = 'wallet:ann'", { accounts: 3n }],
  [
    "two wallets that cancel out",
    `update account set balance_micro = balance_micro + case id when 'wallet:ann' then 5 else -5 end
      where id in ('wallet:ann', 'wallet:bob')`,
    { accounts: 10n },
  ],
  ["an account that vanished", "delete from account where id = 'wallet:bob'", ["accounts"]],
  ["an account from nowhere", "insert into account values ('wallet:eve', 9, 1)", { accounts: 9n }],
  [
    "an escrow: against its transfers, and against both sides' shares",
    "update account set balance_micro = balance_micro + 4 where id = 'escrow:m1'",
    { accounts: 4n, escrow: 8n },
  ],
  ["a trade's fee", "update trade set fee_micro = fee_micro - 1 where id = 'm1-ann'", { trades: 1n, hours: 1n }],
  [
    "a trade's amount: against its entry and the rollups",
    "update trade set amount_micro = amount_micro + 2 where id = 'm1-ann'",
    { trades: 2n, hours: 2n, traderDays: 2n },
  ],
  [
    "a trade's shares: against its entry and the escrow",
    "update trade set shares_micro = shares_micro + 2 where id = 'm1-ann'",
    { trades: 2n, escrow: 2n },
  ],
  [
    "a sale's shares",
    "update trade set shares_micro = shares_micro - 1 where id = 'm1-sale'",
    { trades: 1n, escrow: 1n },
  ],
  [
    "the cost that a sale released",
    "update trade set released_micro = released_micro + 1 where id = 'm1-sale'",
    { trades: 1n, traderDays: 1n },
  ],
  [
    "a position's shares, in a market that is settled",
    "update position set shares_micro = shares_micro + 7 where market_id = 'old' and trader_id = 'ann'",
    { positions: 7n },
  ],
  [
    "a position's cost",
    "update position set cost_micro = cost_micro + 7 where market_id = 'm1' and trader_id = 'ann'",
    { positions: 7n },
  ],
  [
    "a position that vanished",
    "delete from position where market_id = 'm2' and trader_id = 'bob'",
    ["positions", "traderDays"],
  ],
  ["a pool's YES", "update book set yes_micro = yes_micro - 8 where market_id = 'm2'", { escrow: 8n, pools: 8n }],
  ["a pool's NO", "update book set no_micro = no_micro - 8 where market_id = 'm2'", { escrow: 8n, pools: 8n }],
  [
    "the house's shares",
    "update market set house_no_micro = house_no_micro + 1 where id = 'm1'",
    { escrow: 1n, markets: DOLLAR },
  ],
  ["a volume", "update book set volume_micro = volume_micro + 3 where market_id = 'm1'", { volume: 3n }],
  [
    "a market that is settled in the table alone",
    "update book set status = 'settled', outcome = 'yes', settled_at = 1 where market_id = 'm1'",
    ["escrow", "settlements"],
  ],
  [
    "the state of a market that vanished",
    "delete from book where market_id = 'm1'",
    ["escrow", "hours", "markets", "pools", "settlements", "volume"],
  ],
  ["the terms of a settled market that vanished", "delete from market where id = 'old'", ["escrow", "markets"]],
  ["a clarification's text", "update clarification set text = 'Text c2' where id = 'c1'", { markets: DOLLAR }],
  ["a clarification's time", "update clarification set at = at + 1 where id = 'c1'", { markets: DOLLAR }],
  ["a clarification that vanished", "delete from clarification where id = 'c2'", { markets: DOLLAR }],
  [
    "a clarification from nowhere",
    "insert into clarification values ('m1', 1, 'c3', 'Drizzle counts.', 1)",
    { markets: DOLLAR },
  ],
  [
    "the order of clarifications",
    "update clarification set position = case id when 'c1' then 3 else 4 end",
    { markets: 2n * DOLLAR },
  ],
  [
    "the running hour's volume",
    "update book set hour_volume_micro = hour_volume_micro + 3 where market_id = 'm1'",
    { hours: 3n },
  ],
  [
    "the running hour's fees",
    "update book set hour_fee_micro = hour_fee_micro + 3 where market_id = 'm1'",
    { hours: 3n },
  ],
  [
    "the running hour's price",
    "update book set yes_price_ppm = yes_price_ppm + 7 where market_id = 'm1'",
    { hours: 7n, markets: DOLLAR },
  ],
  // One row, since a day may have begun between two trades.
  ...["volume_micro", "realized_micro", "trades"].map((sum): [string, string, Record<string, bigint>] => [
    `the running day's ${sum}`,
    `update position set day_${sum} = day_${sum} + 3
      where ctid = (select ctid from position where market_id = 'm1' and trader_id = 'ann' limit 1)`,
    { traderDays: sum === "trades" ? 3n * DOLLAR : 3n },
  ]),
  [
    "the day's funding",
    "update funding_day set inflow_micro = inflow_micro + 3 where ctid = (select max(ctid) from funding_day)",
    { fundingDays: 3n },
  ],
  [
    "a withdrawal's amount",
    "update withdrawal set amount_micro = amount_micro + 5 where id = 'w1'",
    { withdrawals: 5n },
  ],
  [
    "a withdrawal that is pending again",
    "update withdrawal set status = 'pending', decided_at = null where id = 'w2'",
    { decisions: DOLLAR },
  ],
  ["a hedge tag that is another", "update hedge set notional_minor = 502", { hedges: DOLLAR }],
  ["a hedge tag that is gone", "delete from hedge", { hedges: DOLLAR }],
  [
    "a hedge tag without a trade",
    "insert into hedge select 1, market_id, symbol, direction, notional_minor, external_ref from hedge limit 1",
    { hedges: DOLLAR },
  ],
  [
    "a key",
    `insert into api_key values ('${"9".repeat(64)}', 'thief', 'admin', 0, null, 1, '*', '')`,
    { keys: DOLLAR },
  ],
  ["the policy", "update tenant set liquidity_micro = liquidity_micro + 1", { configuration: DOLLAR }],
  ["the head", "update head set seq = seq + 1", ["record"]],
];
