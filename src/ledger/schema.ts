import type { Sql } from "../postgres/connect.ts";
import type { Grants } from "../postgres/migrate.ts";
import type { TableFacts } from "./codec.ts";
import { TABLES } from "./tables.ts";

/** Tables that the commit statement does not write, in addition to the head, which it swaps. */
const UNCHAINED: readonly TableFacts[] = [
  { name: "head", server: "update", provenBy: "chain" },
  // Only for display.
  { name: "key_use", server: "update", provenBy: "mac" },
  // Which server does which work. A crash empties it, so no backup contains it.
  { name: "lease", server: "update", provenBy: undefined },
  // Written by this binary's own migrations.
  { name: "migration", server: "select", provenBy: undefined },
  // The time of the last sweep, only for display; a restore checks that it is not in the future.
  { name: "oracle_sweep", server: "update", provenBy: "chain" },
  // A forged row would decide a market. Without the row the source is asked again, or a person decides.
  { name: "oracle_tick", server: "delete", provenBy: "mac" },
  // A crash empties it, so no backup contains it.
  { name: "request_count", server: "delete", provenBy: undefined },
  // A forged row would accuse an address or a key. Without the rows the security log starts anew.
  { name: "security_event", server: "delete", provenBy: "mac" },
  // One row that processes lock in turn. Its constraint fixes its content.
  { name: "turn", server: "update", provenBy: "chain" },
  // Forged rows would skip events or delay them. Without the rows each receiver begins at the head, and `webhook
  // replay` sends what it missed.
  { name: "webhook_delivery", server: "delete", provenBy: "mac" },
  { name: "webhook_receiver", server: "delete", provenBy: "mac" },
];

/** Every table of the schema. */
export const SCHEMA: readonly TableFacts[] = [...Object.values(TABLES), ...UNCHAINED];

/** The rights of the server's login on each table. */
export const GRANTS: Grants = Object.fromEntries(SCHEMA.map(({ name, server }) => [name, server]));

/** The columns of each table that the commit statement writes. */
export const WRITTEN_COLUMNS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.values(TABLES).map(({ name, columns }) => [name, columns.map((column) => column.name)]),
);

/** Tables that only grow: the server's login adds rows and never changes them. */
export const JOURNALS = SCHEMA.filter(({ server }) => server === "insert").map(({ name }) => name);

/**
 * Tables of `SCHEMA` whose rows only a backup's `mac` proves.
 *
 * `chain`: the audit log, sealed with a key outside the database, determines the rows, and a restore compares them
 * (`reconcileLedger`, `findUnexplained`). A row that the log does not explain ends the restore.
 *
 * `mac`: the log does not state the rows, so only the file's `mac` proves that they are the tenant's. They are omitted
 * from a file without a `mac`; the comment at each such table says why that is safe.
 */
export const MAC_TABLES = SCHEMA.filter(({ provenBy }) => provenBy === "mac")
  .map(({ name }) => name)
  .sort();

/**
 * Deletes what nothing proves in a backup without a `mac`: the tables above, and API keys whose value no entry names,
 * which are refused anyway.
 */
export async function leaveOutUnproven(sql: Sql): Promise<void> {
  await sql.unsafe(`truncate ${MAC_TABLES.join(", ")}`);
  await sql`
    delete from api_key
     where not exists (
       select 1 from audit
        where type in ('key.created', 'key.revoked') and position(api_key.hash in payload) > 0
     )`;
}
