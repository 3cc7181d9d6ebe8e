import type { TenantFile } from "./schema/schema.ts";
import type { LayeredSource } from "./yaml/layers.ts";

/**
 * A tenant's configuration: the file decoded, defaults filled in. Amounts (`...Usd`) are dollars as in the file, time
 * spans are milliseconds, percentages are ratios, timestamps are milliseconds since 1970. `policy` holds only what the
 * file states.
 */
export interface TenantConfig extends TenantFile {
  name: string;
  source: LayeredSource;
}

/** The most connections that one server has to the database; undefined leaves it at the usual number, as with the embedded one. */
export function connectionsOf({ database }: Pick<TenantConfig, "database">): number | undefined {
  return database === "embedded" ? undefined : database.connections;
}

/** How many standbys every acknowledged change has to be on; the embedded database has none. */
export function requiredStandbys({ database }: Pick<TenantConfig, "database">): number {
  return database === "embedded" ? 0 : database.require.synchronousStandbys;
}
