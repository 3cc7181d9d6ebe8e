import type { MarketKind } from "../domain/market/market.ts";
import { bigint, integer, text } from "../ledger/codec.ts";
import type { ReadSql } from "../postgres/connect.ts";

/** What a market's prices follow from, as fields of a row: how it is made, and its pool as it stands. */
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
