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
  await live.run({ type: "settleMarket", marketId: "old", outcome: "yes" });
  for (const id of ["w1", "w2"])
    await live.run({ type: "requestWithdrawal", id, traderId: "bob", amountMicro: 10n * DOLLAR });
  await live.run({ type: "decideWithdrawal", id: "w2", traderId: "bob", approve: true });
  return live;
}

/** What each check that is not zero has found, after somebody at the owner's keyboard has changed the ledger. */
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
