import { positionKey } from "../engine/rows.ts";
import type { ReadSql } from "../postgres/connect.ts";
import type { Loaded } from "./load.ts";
import { TABLES } from "./tables.ts";

/** Beyond so many entries it is cheaper to load what is needed anew. */
const MAX_ENTRIES = 4000n;

interface Entry {
  seq: bigint;
  hash: string;
}

/**
 * The accounts, market states and positions that the entries after `from` up to `to` changed, as they stand. Null when these
 * tell of anything but trades, or the log does not hold `from`. A trade changes besides them what a trader's positions add up to,
 * the trader's row where it is new, and stored answers.
 */
export async function loadTouched(sql: ReadSql, from: Entry, to: bigint): Promise<Loaded[] | null> {
  if (to <= from.seq || to - from.seq > MAX_ENTRIES) return null;
  // Looked up row by row: a plan made for any range would rather read whole tables.
  const [after, last] = [String(from.seq), String(to)];
  const [known, positions, accounts, marketStates] = await Promise.all([
    sql`
      select bool_and(type = 'trade.executed' or seq = ${after}::bigint)
             and bool_or(seq = ${after}::bigint and hash = ${from.hash}) as known
        from audit
       where seq between ${after}::bigint and ${last}::bigint`,
    sql`
      select ${sql.unsafe(TABLES.position.selected("p"))}
        from (select distinct trader_id, market_id, side
                from trade
               where seq > ${after}::bigint and seq <= ${last}::bigint) t
       cross join lateral (
         select *
           from position
          where trader_id = t.trader_id and market_id = t.market_id and side = t.side
         offset 0
       ) p`,
    sql`
      select ${sql.unsafe(TABLES.account.selected("a"))}
        from (select debit as id from transfer where seq > ${after}::bigint and seq <= ${last}::bigint
              union
              select credit from transfer where seq > ${after}::bigint and seq <= ${last}::bigint) t
       cross join lateral (select * from account where account.id = t.id offset 0) a`,
    sql`
      select ${sql.unsafe(TABLES.marketState.selected("b"))}
        from (select distinct market_id
                from trade
               where seq > ${after}::bigint and seq <= ${last}::bigint) t
       cross join lateral (select * from book where book.market_id = t.market_id offset 0) b`,
  ]);
  if (known[0]?.known !== true) return null;
  return [
    ...positions.map((stored): Loaded => {
      const row = TABLES.position.decode(stored);
      return { table: "position", key: positionKey(row.traderId, row.marketId, row.side), row };
    }),
    ...accounts.map((stored): Loaded => {
      const row = TABLES.account.decode(stored);
      return { table: "account", key: row.id, row };
    }),
    ...marketStates.map((stored): Loaded => {
      const row = TABLES.marketState.decode(stored);
      return { table: "marketState", key: row.marketId, row };
    }),
  ];
}
