import { positionKey } from "../engine/rows.ts";
import type { ReadSql } from "../postgres/connect.ts";
import type { Loaded } from "./load.ts";
import { TABLES } from "./tables.ts";

/** Beyond this number of entries, loading the needed rows again is cheaper. */
const MAX_ENTRIES = 4000;

interface Entry {
  seq: bigint;
  hash: string;
}

/** The entries after `$1`, up to one more than the limit. */
const SINCE = `seq > $1::bigint and seq <= $1::bigint + ${MAX_ENTRIES + 1}`;

const KNOWN = `
  select bool_and(type = 'trade.executed' or seq = $1::bigint)
         and bool_or(seq = $1::bigint and hash = $2) and count(*) <= ${MAX_ENTRIES + 1} as known
    from audit
   where seq >= $1::bigint and seq <= $1::bigint + ${MAX_ENTRIES + 1}`;

// Looked up row by row: a plan for an arbitrary range would read whole tables.
const POSITIONS = `
  select ${TABLES.position.selected("p")}
    from (select distinct trader_id, market_id, side from trade where ${SINCE}) t
   cross join lateral (
     select * from position where trader_id = t.trader_id and market_id = t.market_id and side = t.side offset 0
   ) p`;
const ACCOUNTS = `
  select ${TABLES.account.selected("a")}
    from (select debit as id from transfer where ${SINCE} union select credit from transfer where ${SINCE}) t
   cross join lateral (select * from account where account.id = t.id offset 0) a`;
const MARKET_STATES = `
  select ${TABLES.marketState.selected("b")}
    from (select distinct market_id from trade where ${SINCE}) t
   cross join lateral (select * from book where book.market_id = t.market_id offset 0) b`;

/**
 * The current accounts, market states and positions that the entries after `from` changed. Null if the entries contain
 * anything but trades, or the log does not contain `from`. A trade also changes the trader's total exposure, a new
 * trader's row, and stored answers. All queries are sent at once.
 */
export async function loadTouched(sql: ReadSql, from: Entry): Promise<Loaded[] | null> {
  const after = String(from.seq);
  const read = (query: string, ...more: string[]) => sql.unsafe(query, [after, ...more], { prepare: true });
  const [known, positions, accounts, marketStates] = await Promise.all([
    read(KNOWN, from.hash),
    read(POSITIONS),
    read(ACCOUNTS),
    read(MARKET_STATES),
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
