import type { TenantFile } from "./schema/schema.ts";
import type { LayeredSource } from "./yaml/layers.ts";

/**
 * A tenant's configuration: the decoded file with defaults. Amounts (`...Usd`) are dollars as in the file, time spans
 * are milliseconds, percentages are ratios, timestamps are milliseconds since the epoch. `policy` contains only stated
 * fields.
 */
export interface TenantConfig extends TenantFile {
  name: string;
  source: LayeredSource;
}

/** The most database connections of one server; undefined for the usual number, as with the embedded database. */
export function connectionsOf({ database }: Pick<TenantConfig, "database">): number | undefined {
  return database === "embedded" ? undefined : database.connections;
}

/** The number of standbys that must have every acknowledged change; the embedded database has none. */
export function requiredStandbys({ database }: Pick<TenantConfig, "database">): number {
  return database === "embedded" ? 0 : database.require.synchronousStandbys;
}
