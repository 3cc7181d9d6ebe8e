import type { Reader } from "../engine/draft.ts";
import { RowMap } from "../engine/row-map.ts";
import type { Need, Table, Tables } from "../engine/rows.ts";
import { loadRows } from "../ledger/load.ts";
import { readClock } from "../postgres/database-time.ts";
import type { ServiceContext } from "./context.ts";

/** The rows that a rule of the engine needs, and the database's time, of one moment. The caller stores nothing. */
export async function readState(
  { pool, isSealed }: ServiceContext,
  needs: Need[],
): Promise<{ state: Reader; now: number }> {
  const [loaded, now] = await pool.snapshot((sql) => Promise.all([loadRows(sql, needs, isSealed), readClock(sql)]));
  const rows = new RowMap<Tables[Table] | null>();
  for (const { table, key, row } of loaded) rows.set(table, key, row);
  const state: Reader = {
    get: <T extends Table>(table: T, key: string) => (rows.get(table, key) ?? undefined) as Tables[T] | undefined,
  };
  return { state, now };
}
