import type { Mechanism } from "../domain/market/market.ts";
import type { Pool } from "../domain/market/pool.ts";
import type { ReadSql, Row } from "../postgres/connect.ts";

/** What a market's prices follow from: how it is made, and its pool as it stands. */
export type Priced = Mechanism & Pool;

/** The columns of `toPriced`, of a market `m` and its state `b`. */
export function pricedColumns(sql: ReadSql) {
  return sql`m.kind, m.p0_ppm, m.fund_micro, b.yes_micro, b.no_micro`;
}

/** A row that has the `pricedColumns`. */
export function toPriced(row: Row): Priced {
  return {
    kind: row.kind,
    p0Ppm: row.p0_ppm,
    fundMicro: BigInt(row.fund_micro),
    yesMicro: BigInt(row.yes_micro),
    noMicro: BigInt(row.no_micro),
  };
}
