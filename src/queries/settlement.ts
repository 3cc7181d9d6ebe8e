import type { Side } from "../domain/market/market.ts";
import { accountOf } from "../ledger/account-sql.ts";
import type { ReadSql } from "../postgres/connect.ts";

/** What a settlement would come to. One winning share pays one dollar, so micro-shares are micro-dollars. */
export interface SettlementRow {
  payouts: number;
  totalMicro: bigint;
  /** What remains of the escrow, less the house's stake. */
  houseResultMicro: bigint;
  largest: { traderId: string; sharesMicro: bigint } | null;
}

/** Reads the positions of one market in one snapshot. */
export async function readSettlement(sql: ReadSql, marketId: string, outcome: Side): Promise<SettlementRow> {
  const [row] = await sql`
    with winner as (
      select trader_id, shares_micro
        from position
       where market_id = ${marketId} and side = ${outcome} and shares_micro > 0
    ),
    paid as (
      select count(*)::int4 as payouts, coalesce(sum(shares_micro), 0) as total
        from winner
    ),
    largest as (
      select trader_id, shares_micro
        from winner
       order by shares_micro desc, trader_id
       limit 1
    )
    select p.payouts, p.total::text as total, (a.balance_micro - p.total - m.fund_micro)::text as house_result,
           l.trader_id, l.shares_micro
      from paid p
      join market m on m.id = ${marketId}
      join account a on a.id = ${accountOf(sql, "escrow", "m.id")}
      left join largest l on true`;
  return {
    payouts: row?.payouts ?? 0,
    totalMicro: BigInt(row?.total ?? 0),
    houseResultMicro: BigInt(row?.house_result ?? 0),
    largest: row?.trader_id == null ? null : { traderId: row.trader_id, sharesMicro: BigInt(row.shares_micro) },
  };
}
