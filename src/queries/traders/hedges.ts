import type { Side } from "../../domain/market/pool.ts";
import { bigint, integer, rowReader, text, whole } from "../../ledger/codec.ts";
import { textArray } from "../../postgres/arrays.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { readClock } from "../../postgres/database-time.ts";

const toTag = rowReader({
  seq: whole(),
  symbol: text(),
  direction: text<"long" | "short">(),
  notionalMinor: whole(),
  traderId: text(),
  marketId: text(),
  side: text<Side>(),
  amountMicro: bigint(),
  /** The position's present shares, and their cost. */
  sharesMicro: bigint(),
  costMicro: bigint(),
});
type Tag = ReturnType<typeof toTag>;

const toChange = rowReader({
  place: integer(),
  seq: whole(),
  amountMicro: bigint(),
  /** Negative for a sale. */
  sharesMicro: bigint(),
  /** The cost of a sale's shares; 0 for a purchase. */
  releasedMicro: bigint(),
});
type Change = ReturnType<typeof toChange>;

export interface HedgeSymbol {
  symbol: string;
  openTrades: number;
  longHedges: number;
  shortHedges: number;
  totalNotionalMinor: number;
  activeCostMicro: bigint;
}

/** The fraction of a micro-dollar in which products of many sales are computed. */
const FINE = 10n ** 12n;

/**
 * The hedge book by symbol: tagged purchases in unsettled markets since their position was last empty. A sale names no
 * purchase, so it reduces each purchase's cost in the same proportion as the position's.
 */
export async function readHedgeBook(sql: ReadSql): Promise<{ symbols: HedgeSymbol[]; now: number }> {
  const rows = await sql`
    select h.seq, h.symbol, h.direction, h.notional_minor, t.trader_id, t.market_id, t.side, t.amount_micro,
           p.shares_micro, p.cost_micro
      from hedge h
      join book b on b.market_id = h.market_id and b.status <> 'settled'
      -- Looked up one by one, whatever the planner thinks of the number of tags: never all trades.
      cross join lateral (select * from trade where seq = h.seq limit 1) t
      cross join lateral (
        select shares_micro, cost_micro from position
         where trader_id = t.trader_id and market_id = t.market_id and side = t.side and shares_micro > 0
         limit 1
      ) p
     order by h.seq`;
  const positions = [...Map.groupBy(rows.map(toTag), (tag) => JSON.stringify([tag.traderId, tag.marketId, tag.side]))];
  const changes = Map.groupBy(
    await listChanges(
      sql,
      positions.flatMap(([, [first]]) => first ?? []),
    ),
    ({ place }) => place - 1,
  );
  const active = positions.flatMap(([, tags], place) => activeTags(tags, changes.get(place) ?? []));
  const symbols = [...Map.groupBy(active, ({ symbol }) => symbol)].map(([symbol, own]) => ({
    symbol,
    openTrades: own.length,
    longHedges: own.filter(({ direction }) => direction === "long").length,
    shortHedges: own.filter(({ direction }) => direction === "short").length,
    // The API's integers end at 2^53 - 1.
    totalNotionalMinor: Math.min(
      own.reduce((sum, { notionalMinor }) => sum + notionalMinor, 0),
      Number.MAX_SAFE_INTEGER,
    ),
    // Rounded to the millionth of a micro-dollar first, so that three thirds of a dollar are a dollar.
    activeCostMicro: (own.reduce((sum, { fine }) => sum + fine, 0n) + FINE / 2_000_000n) / FINE,
  }));
  return { symbols: symbols.toSorted((a, b) => (a.symbol < b.symbol ? -1 : 1)), now: await readClock(sql) };
}

/** The trades since the first tag of positions with a later sale; other positions keep the full cost of their tags. */
async function listChanges(sql: ReadSql, firstTags: readonly Tag[]): Promise<Change[]> {
  const column = (of: (tag: Tag) => string | number) => textArray(firstTags.map((tag) => String(of(tag))));
  const rows = await sql`
    with sold as materialized (
      select p.*
        from unnest(
               ${column(({ traderId }) => traderId)}::text[],
               ${column(({ marketId }) => marketId)}::text[],
               ${column(({ side }) => side)}::text[],
               ${column(({ seq }) => seq)}::bigint[]
             ) with ordinality as p (trader_id, market_id, side, seq, place)
       cross join lateral (
         select from trade
          where trader_id = p.trader_id and market_id = p.market_id and side = p.side and released_micro is not null
            and seq > p.seq
          order by seq
          limit 1
       ) sale
    )
    select s.place::int4 as place, t.seq, t.amount_micro, t.shares_micro, coalesce(t.released_micro, 0)::bigint as released_micro
      from (select trader_id, min(seq) as seq from sold group by trader_id) o
     -- The trades of these traders alone, each once, whatever the planner thinks of their number.
     cross join lateral (
       select *
         from trade
        where trader_id = o.trader_id and seq >= o.seq
          and (trader_id, market_id, side) in (select trader_id, market_id, side from sold)
       offset 0
     ) t
      join sold s on s.trader_id = t.trader_id and s.market_id = t.market_id and s.side = t.side and s.seq <= t.seq
     order by t.seq`;
  return rows.map(toChange);
}

/** The open tags of one position, with the remaining cost after the trades since the first tag. */
function activeTags(tags: readonly Tag[], changes: readonly Change[]): (Tag & { fine: bigint })[] {
  const [first] = tags;
  if (!first || changes.length === 0) return tags.map((tag) => ({ ...tag, fine: tag.amountMicro * FINE }));
  // Computes back from the present shares to those before the first tag.
  let sharesMicro = changes.reduce((left, change) => left - change.sharesMicro, first.sharesMicro);
  let costMicro = changes.reduce((left, change) => left - costOf(change), first.costMicro);
  const bySeq = new Map(tags.map((tag) => [tag.seq, tag]));
  let open: (Tag & { fine: bigint })[] = [];
  for (const change of changes) {
    const { seq, amountMicro, releasedMicro } = change;
    if (change.sharesMicro < 0n && costMicro > 0n)
      open = open.map((tag) => ({ ...tag, fine: (tag.fine * (costMicro - releasedMicro)) / costMicro }));
    sharesMicro += change.sharesMicro;
    costMicro += costOf(change);
    const tag = bySeq.get(seq);
    if (tag) open.push({ ...tag, fine: amountMicro * FINE });
    if (sharesMicro === 0n) open = [];
  }
  return open;
}

const costOf = ({ sharesMicro, amountMicro, releasedMicro }: Change) =>
  sharesMicro < 0n ? -releasedMicro : amountMicro;
