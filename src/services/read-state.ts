import type { Reader } from "../engine/draft.ts";
import { RowMap } from "../engine/row-map.ts";
import type { Need, Table, Tables } from "../engine/rows.ts";
import { loadRows } from "../ledger/load.ts";
import type { ReadSql } from "../postgres/connect.ts";
import { readClock } from "../postgres/database-time.ts";
import type { ServiceContext } from "./context.ts";

/**
 * The rows that a rule of the engine needs, and the database's time, of one moment. The caller stores nothing.
 * @param also reads more of the same moment
 */
export async function readState<More = undefined>(
  { pool, isSealed }: ServiceContext,
  needs: Need[],
  also?: (sql: ReadSql) => Promise<More>,
): Promise<{ state: Reader; now: number; more: More }> {
  const [loaded, now, more] = await pool.snapshot((sql) =>
    Promise.all([loadRows(sql, needs, isSealed), readClock(sql), also?.(sql) as Promise<More>]),
  );
  const rows = new RowMap<Tables[Table] | null>();
  for (const { table, key, row } of loaded) rows.set(table, key, row);
  const state: Reader = {
    get: <T extends Table>(table: T, key: string) => (rows.get(table, key) ?? undefined) as Tables[T] | undefined,
  };
  return { state, now, more };
}
