import { arrayLiteral, quoted, textArray } from "../../postgres/arrays.ts";
import { commitsLocally } from "../../postgres/commit-setting.ts";
import type { ReadSql, Sql } from "../../postgres/connect.ts";
import { nullable, rowReader, text, whole } from "../codec.ts";

/** One event from one address within its window, and how often. */
const toSecurityRow = rowReader({
  /** Derived from the event, reason, detail, address and window, so that all servers write the same row. */
  id: text(),
  /** The first time within the window, in milliseconds. */
  ts: whole(),
  event: text(),
  reason: text(),
  detail: nullable(text()),
  address: nullable(text()),
  fingerprint: nullable(text()),
  keyName: nullable(text()),
  route: nullable(text()),
  count: whole(),
});
export type SecurityRow = ReturnType<typeof toSecurityRow>;

/** Adds a process's events to those of others. A use of a key is reported once, however many servers see it. */
export async function recordSecurityEvents(sql: Sql, entries: readonly SecurityRow[]): Promise<void> {
  // A fixed order everywhere, so that two servers cannot deadlock.
  const rows = entries.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const texts = (name: "detail" | "address" | "fingerprint" | "keyName" | "route") =>
    arrayLiteral(
      rows.map((row) => row[name]),
      quoted,
    );
  const numbers = (name: "ts" | "count") => `{${rows.map((row) => row[name]).join(",")}}`;
  await sql`
    insert into security_event (id, ts, event, reason, detail, address, fingerprint, key_name, route, count)
    select * from unnest(${textArray(rows.map(({ id }) => id))}::text[], ${numbers("ts")}::bigint[],
                         ${textArray(rows.map(({ event }) => event))}::text[],
                         ${textArray(rows.map(({ reason }) => reason))}::text[],
                         ${texts("detail")}::text[], ${texts("address")}::text[], ${texts("fingerprint")}::text[], ${texts("keyName")}::text[],
                         ${texts("route")}::text[], ${numbers("count")}::bigint[])
     where ${commitsLocally(sql)}
        on conflict (id) do update set count = security_event.count + excluded.count
     where security_event.event <> 'key.used'`;
}

export interface SecurityQuery {
  event?: string | undefined;
  /** Only events from this instant on, in milliseconds. */
  since?: number | undefined;
  /** Only rows older than this row. */
  before?: { ts: number; id: string } | undefined;
  limit: number;
}

/** Newest first. */
export async function listSecurityRows(sql: ReadSql, query: SecurityQuery): Promise<SecurityRow[]> {
  const { event, since, before, limit } = query;
  const rows = await sql`
    select id, ts, event, reason, detail, address, fingerprint, key_name, route, count
      from security_event
     where true
       ${event === undefined ? sql`` : sql`and event = ${event}`}
       ${since === undefined ? sql`` : sql`and ts >= ${since}::bigint`}
       ${before === undefined ? sql`` : sql`and (ts, id) < (${before.ts}::bigint, ${before.id})`}
     order by ts desc, id desc
     limit ${limit}`;
  return rows.map(toSecurityRow);
}
