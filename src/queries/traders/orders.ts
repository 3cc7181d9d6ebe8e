import type { Side } from "../../domain/market/market.ts";
import { bigint, integer, named, nullable, rowReader, text, whole } from "../../ledger/codec.ts";
import { TABLES } from "../../ledger/tables.ts";
import { textArray } from "../../postgres/arrays.ts";
import type { ReadSql, Row } from "../../postgres/connect.ts";

const TRADE = {
  seq: whole(),
  id: text(),
  marketId: text(),
  question: text(),
  side: text<Side>(),
  amountMicro: bigint(),
  feeMicro: bigint(),
  /** Negative for a sale. */
  sharesMicro: bigint(),
  yesPricePpm: integer(),
  ts: whole(),
};
const toTrade = rowReader(TRADE);

/** The columns of `TRADE`, of a trade `t` and its market `m`. */
const tradeColumns = (sql: ReadSql) =>
  sql`t.seq, t.id, t.market_id, m.question, t.side, t.amount_micro, t.fee_micro, t.shares_micro, t.yes_price_ppm, t.ts`;

/** Turns a row of the journal into a fill; the row has negative shares for a sale, and prices in millionths. */
function fillOf<Stored extends { sharesMicro: bigint; yesPricePpm: number }>(stored: Stored) {
  const { sharesMicro, yesPricePpm, ...row } = stored;
  const action: "buy" | "sell" = sharesMicro < 0n ? "sell" : "buy";
  return {
    ...row,
    action,
    sharesMicro: action === "sell" ? -sharesMicro : sharesMicro,
    yesPriceAfter: yesPricePpm / 1e6,
  };
}

/** A trade with the hedge that it was tagged with. */
export type OrderRow = ReturnType<typeof toOrder>;

export interface OrderQuery {
  traderId: string;
  marketId?: string | undefined;
  /** Only trades before this entry. */
  before?: number | undefined;
  limit: number;
}

function select(sql: ReadSql) {
  return sql`
    select ${tradeColumns(sql)}, h.symbol, h.direction, h.notional_minor, h.external_ref
      from trade t
      join market m on m.id = t.market_id
      left join hedge h on h.seq = t.seq`;
}

const toExecuted = rowReader({
  ...TRADE,
  releasedMicro: nullable(bigint()),
  heldMicro: bigint(),
  heldCostMicro: bigint(),
});
const toSeal = rowReader({ seq: bigint(), hash: text(), ts: named("entry_ts", text()), keyId: text() });

/** A stored trade as it was executed, without its tag, and the seal of its entry. */
export type ExecutedTrade = Awaited<ReturnType<typeof findExecuted>>[number];

/** Those of the ids that are stored trades, the oldest first. Only trades change a position, so it held then what it holds without the later ones. */
export async function findExecuted(sql: ReadSql, ids: readonly string[]) {
  if (ids.length === 0) return [];
  const rows = await sql`
    select ${tradeColumns(sql)}, t.released_micro, a.hash, a.ts as entry_ts, a.key_id,
           p.shares_micro - later.shares_micro as held_micro, p.cost_micro - later.cost_micro as held_cost_micro
      from trade t
      join market m on m.id = t.market_id
      join audit a on a.seq = t.seq
      join position p on p.trader_id = t.trader_id and p.market_id = t.market_id and p.side = t.side
     cross join lateral (
           select coalesce(sum(shares_micro), 0)::bigint as shares_micro,
                  coalesce(sum(coalesce(-released_micro, amount_micro)), 0)::bigint as cost_micro
             from trade
            where trader_id = t.trader_id and seq > t.seq and market_id = t.market_id and side = t.side) later
     where t.id = any(${textArray(ids)}::text[])
     order by t.seq`;
  return rows.map((row) => {
    const { id, heldMicro, heldCostMicro, releasedMicro, ...fill } = fillOf(toExecuted(row));
    return {
      ...fill,
      tradeId: id,
      position: { sharesMicro: heldMicro, costMicro: heldCostMicro },
      realizedMicro: releasedMicro === null ? null : fill.amountMicro - fill.feeMicro - releasedMicro,
      seal: toSeal(row),
    };
  });
}

/** A trader's own trades, newest first. */
export async function listOrders(sql: ReadSql, { traderId, marketId, before, limit }: OrderQuery): Promise<OrderRow[]> {
  const rows = await sql`
    ${select(sql)}
     where t.trader_id = ${traderId}
       ${marketId === undefined ? sql`` : sql`and t.market_id = ${marketId}`}
       ${before === undefined ? sql`` : sql`and t.seq < ${before}`}
     order by t.seq desc
     limit ${limit}`;
  return rows.map(toOrder);
}

/** Another user's trade is answered like an unknown one, so ids cannot be probed. */
export async function findOrder(sql: ReadSql, traderId: string, id: string): Promise<OrderRow | undefined> {
  const [row] = await sql`${select(sql)} where t.id = ${id} and t.trader_id = ${traderId}`;
  return row && toOrder(row);
}

function toOrder(row: Row) {
  const fill = fillOf(toTrade(row));
  if (row.symbol === null) return { ...fill, hedgeRef: undefined };
  const { symbol, direction, notional, externalRef } = TABLES.hedge.decode(row);
  return { ...fill, hedgeRef: { symbol, direction, notional, externalRef } };
}

const toRecord = rowReader({
  ...TRADE,
  traderId: text(),
  /** The price after the previous trade in this market; null for the first trade. */
  previousPricePpm: nullable(integer()),
  p0Ppm: integer(),
});

/** A trade of any user, with the price before it and its audit entry. No index finds the previous trade of a market. */
export async function findTradeRecord(sql: ReadSql, id: string) {
  const [row] = await sql`
    select ${tradeColumns(sql)}, t.trader_id, m.p0_ppm,
           a.type, a.actor, a.payload, a.ts as entry_ts, a.key_id, a.hash,
           (select before.yes_price_ppm
              from trade before
             where before.market_id = t.market_id
               and before.seq < t.seq
             order by before.seq desc
             limit 1) as previous_price_ppm
      from trade t
      join market m on m.id = t.market_id
      join audit a on a.seq = t.seq
     where t.id = ${id}`;
  return row && { ...fillOf(toRecord(row)), entry: TABLES.audit.decode({ ...row, ts: row.entry_ts }) };
}
