import type { Sql } from "../postgres/connect.ts";
import type { Grants } from "../postgres/migrate.ts";
import type { TableFacts } from "./codec.ts";
import { TABLES } from "./tables.ts";

/** Tables that the commit statement does not write, beside the head, which it swaps. */
const UNCHAINED: readonly TableFacts[] = [
  { name: "head", server: "update", provenBy: "chain" },
  // For display.
  { name: "key_use", server: "update", provenBy: "mac" },
  // Who does which work. A crash empties it, so no backup holds it.
  { name: "lease", server: "update", provenBy: undefined },
  // What this binary's own migrations left.
  { name: "migration", server: "select", provenBy: undefined },
  // The time of the last sweep, for display; a restore only sees that it is not in the future.
  { name: "oracle_sweep", server: "update", provenBy: "chain" },
  // A forged row would decide a market. Without it the source is asked again, or a person decides.
  { name: "oracle_tick", server: "delete", provenBy: "mac" },
  // A crash empties it, so no backup holds it.
  { name: "request_count", server: "delete", provenBy: undefined },
  // A forged row would accuse an address or a key. Without it the log of the edge begins anew.
  { name: "security_event", server: "delete", provenBy: "mac" },
  // One row that processes lock in turn. Its constraint says all that it can hold.
  { name: "turn", server: "update", provenBy: "chain" },
  // Forged rows would skip events or hold them back. Without them each receiver begins at the head, and `webhook replay`
  // tells what it missed.
  { name: "webhook_delivery", server: "delete", provenBy: "mac" },
  { name: "webhook_receiver", server: "delete", provenBy: "mac" },
];

/** Every table of the schema. */
export const SCHEMA: readonly TableFacts[] = [...Object.values(TABLES), ...UNCHAINED];

/** What the server's login may do with each table. */
export const GRANTS: Grants = Object.fromEntries(SCHEMA.map(({ name, server }) => [name, server]));

/** The columns that the commit statement gives to each table. */
export const WRITTEN_COLUMNS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.values(TABLES).map(({ name, columns }) => [name, columns.map((column) => column.name)]),
);

/** Tables that only grow: the server's login adds rows and never rewrites them. */
export const JOURNALS = SCHEMA.filter(({ server }) => server === "insert").map(({ name }) => name);

/**
 * Tables of `SCHEMA` whose rows only a backup's `mac` proves.
 *
 * `chain`: the audit log, sealed with a key that is not in the database, says what they must be, and a restore compares
 * them with it (`reconcileLedger`, `findUnexplained`). A row that the log does not explain ends the restore.
 *
 * `mac`: the log does not state them, so only the file's `mac` says that they are the tenant's. Out of a file without
 * one they are left out; beside each such table stands why that is safe.
 */
export const MAC_TABLES = SCHEMA.filter(({ provenBy }) => provenBy === "mac")
  .map(({ name }) => name)
  .sort();

/**
 * Deletes what nothing proves in a backup without a `mac`: the tables above; and API keys whose value no entry
 * names, which are refused anyway.
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
