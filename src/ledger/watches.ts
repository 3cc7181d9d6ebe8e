import type { Watch } from "../engine/rows.ts";
import { textArray } from "../postgres/arrays.ts";
import type { ReadSql } from "../postgres/connect.ts";

/** The columns of the commit statement, in the order of the cells. */
export const WATCH_COLUMNS =
  "market_id text, instant_at bigint, parsed boolean, settled boolean, reason text, detail text, held_at bigint, version bigint";

/** What the commit statement writes of a watch. */
export function watchCells({ hold, ...watch }: Watch): (string | number | boolean | null)[] {
  return [
    watch.marketId,
    watch.instantAt,
    watch.parsed,
    watch.settled,
    hold?.reason ?? null,
    hold?.detail ?? null,
    hold?.at ?? null,
    watch.version + 1,
  ];
}

/** Watches by market. */
export async function loadWatches(sql: ReadSql, marketIds: string[]): Promise<Map<string, Watch>> {
  const rows = await sql`
    select market_id, instant_at, parsed, settled, reason, detail, held_at, version
      from oracle_watch
     where market_id = any(${textArray(marketIds)}::text[])`;
  return new Map(
    rows.map((row) => [
      row.market_id as string,
      {
        marketId: row.market_id as string,
        instantAt: Number(row.instant_at),
        parsed: row.parsed as boolean,
        settled: row.settled as boolean,
        hold: row.reason === null ? null : { reason: row.reason, detail: row.detail, at: Number(row.held_at) },
        version: Number(row.version),
      },
    ]),
  );
}
