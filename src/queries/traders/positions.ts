import type { Side, StoredStatus } from "../../domain/market/market.ts";
import type { Outcome } from "../../domain/market/outcome.ts";
import type { MarketEnd } from "../../engine/rows.ts";
import { bigint, flag, json, nullable, rowReader, text, whole } from "../../ledger/codec.ts";
import { POLICY_COLUMNS } from "../../ledger/tables.ts";
import { textArray } from "../../postgres/arrays.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { nowMs } from "../../postgres/database-time.ts";
import { PRICED, pricedColumns } from "../priced.ts";

const POSITION = {
  marketId: text(),
  question: text(),
  side: text<Side>(),
  sharesMicro: bigint(),
  costMicro: bigint(),
};

const toOpen = rowReader({
  ...POSITION,
  ...PRICED,
  status: text<StoredStatus>(),
  closeAt: whole(),
});
export type OpenPosition = ReturnType<typeof toOpen>;

const toPolicy = rowReader({
  ...POLICY_COLUMNS,
  now: whole(),
});
/** The stored parts of the policy in force, with the database's clock. */
export type StoredPolicy = ReturnType<typeof toPolicy>;

/**
 * A trader's positions in unsettled markets, with what is needed to price them and their sale.
 * @returns also the policy; undefined without positions
 */
export async function listOpenPositions(
  sql: ReadSql,
  traderId: string,
): Promise<{ positions: OpenPosition[]; stored: StoredPolicy | undefined }> {
  const rows = await sql`
    with held as (
      select p.market_id, m.question, p.side, p.shares_micro, p.cost_micro, b.status, m.close_at, ${pricedColumns(sql)},
             row_number() over (order by m.close_at, m.id, p.side) as place
        from position p
        join market m on m.id = p.market_id
        join book b on b.market_id = p.market_id
       where p.trader_id = ${traderId}
         and b.status <> 'settled'
         and p.shares_micro > 0
    )
    -- One statement for both; the text of the policy comes with the first position alone.
    select held.*, t.policy, t.overrides, ${nowMs(sql)} as now
      from held
      left join tenant t on held.place = 1
     order by held.place`;
  return { positions: rows.map(toOpen), stored: rows[0] && toPolicy(rows[0]) };
}

const toHeldMarket = rowReader({
  ...PRICED,
  isOpen: flag(),
  held: text(),
});

/** A position of one of several traders. */
export interface HeldPosition {
  traderId: string;
  side: Side;
  sharesMicro: bigint;
  costMicro: bigint;
  /** Whether the trader has traded it within the period. */
  isRecent: boolean;
}

/** A market with positions, and what is needed to price them. */
export interface HeldMarket extends Omit<ReturnType<typeof toHeldMarket>, "held"> {
  positions: HeldPosition[];
}

/**
 * The positions of several traders by market, unordered: open holdings, and what was traded since `startMs`. The
 * positions of a market are one text, because reading a row of the driver for each of 10,000 costs more than the query.
 */
export async function listHeldMarkets(
  sql: ReadSql,
  traderIds: readonly string[],
  startMs: number,
): Promise<HeldMarket[]> {
  const isRecent = sql`p.day >= ${startMs}::bigint`;
  const rows = await sql`
    select ${pricedColumns(sql)}, b.status <> 'settled' as is_open, h.held
      from (
        select p.market_id,
               string_agg(t.place || ' ' || p.side || ' ' || p.shares_micro || ' ' || p.cost_micro || ' '
                            || (${isRecent})::int4, ',') as held
          from unnest(${textArray(traderIds)}::text[]) with ordinality as t (id, place)
          join position p on p.trader_id = t.id
          join book b on b.market_id = p.market_id
         where ${isRecent} or (p.shares_micro > 0 and b.status <> 'settled')
         group by p.market_id
      ) h
      join market m on m.id = h.market_id
      join book b on b.market_id = h.market_id`;
  return rows.map(toHeldMarket).map(({ held, ...market }) => ({
    ...market,
    positions: held.split(",").map((each) => {
      const [place, side, shares, cost, recent] = each.split(" ");
      return {
        traderId: traderIds[Number(place) - 1] ?? "",
        side: side as Side,
        sharesMicro: BigInt(shares ?? ""),
        costMicro: BigInt(cost ?? ""),
        isRecent: recent === "1",
      };
    }),
  }));
}

const toHolder = rowReader({
  traderId: text(),
  side: text<Side>(),
  sharesMicro: bigint(),
  costMicro: bigint(),
  /** Of the other side; null without shares of it. */
  otherSharesMicro: nullable(bigint()),
  otherCostMicro: nullable(bigint()),
});
/** A holder of a market, with the side that cost more. */
export type HolderRow = ReturnType<typeof toHolder>;

export interface HolderQuery {
  marketId: string;
  /** The last holder of the previous page. */
  after?: Pick<HolderRow, "costMicro" | "traderId"> | undefined;
  limit: number;
}

/**
 * The holders of a market, the largest position first. A page sorts all positions of the market, which takes 35 ms for
 * 100,000 of them: in an index of this order, every trade would move an entry.
 */
export async function listHolders(sql: ReadSql, { marketId, after, limit }: HolderQuery): Promise<HolderRow[]> {
  const rows = await sql`
    select p.trader_id, p.side, p.shares_micro, p.cost_micro, o.shares_micro as other_shares_micro,
           o.cost_micro as other_cost_micro
      from (
        select trader_id, side, shares_micro, cost_micro
          from position
         where market_id = ${marketId}
           and shares_micro > 0
           ${after === undefined ? sql`` : sql`and (-cost_micro, trader_id) > (${String(-after.costMicro)}::bigint, ${after.traderId})`}
         order by cost_micro desc, trader_id
        -- Looks for the other side in the order of the list, and so for the rows of the page alone.
        offset 0
      ) p
      left join lateral (
        select side, shares_micro, cost_micro
          from position
         where trader_id = p.trader_id
           and market_id = ${marketId}
           and side <> p.side
           and shares_micro > 0
        offset 0
      ) o on true
     where o.side is null or (p.cost_micro, p.side) > (o.cost_micro, o.side)
     order by p.cost_micro desc, p.trader_id
     limit ${limit}`;
  return rows.map(toHolder);
}

const toSettled = rowReader({
  ...POSITION,
  outcome: text<Outcome>(),
  settledAt: whole(),
  corrections: nullable(json<MarketEnd["corrections"]>()),
  voidReason: nullable(text()),
});
export type SettledPosition = ReturnType<typeof toSettled>;

/** A trader's last positions in settled markets, newest first. Leaves out what was sold before the settlement. */
export async function listSettledPositions(sql: ReadSql, traderId: string, limit: number): Promise<SettledPosition[]> {
  const rows = await sql`
    select p.market_id, m.question, p.side, b.outcome, p.shares_micro, p.cost_micro, b.settled_at, e.corrections,
           e.reason as void_reason
      from position p
      join market m on m.id = p.market_id
      join book b on b.market_id = p.market_id
      left join market_end e on e.market_id = p.market_id
     where p.trader_id = ${traderId}
       and b.status = 'settled'
       and p.shares_micro > 0
     order by b.settled_at desc, p.market_id, p.side
     limit ${limit}`;
  return rows.map(toSettled);
}
