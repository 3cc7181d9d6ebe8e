import type { MarketKind } from "../domain/market/market.ts";
import { bigint, integer, text } from "../ledger/codec.ts";
import type { ReadSql } from "../postgres/connect.ts";

/** The fields of a row that decide a market's prices: its terms, and its present pool. */
export const PRICED = {
  kind: text<MarketKind>(),
  p0Ppm: integer(),
  fundMicro: bigint(),
  yesMicro: bigint(),
  noMicro: bigint(),
};

/** The columns of `PRICED`, of a market `m` and its state `b`. */
export function pricedColumns(sql: ReadSql) {
  return sql`m.kind, m.p0_ppm, m.fund_micro, b.yes_micro, b.no_micro`;
}
