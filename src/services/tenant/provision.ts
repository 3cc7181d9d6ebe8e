import { promisesOf, standbysMissing } from "../../domain/durability.ts";
import type { Fault } from "../../domain/fault.ts";
import { GRANTS } from "../../ledger/schema.ts";
import { type Connection, connect } from "../../postgres/connect.ts";
import { ensureDatabase, isMissingDatabase } from "../../postgres/database.ts";
import { SchemaMissing } from "../../postgres/empty-database.ts";
import { migrate } from "../../postgres/migrate.ts";
import { readDurabilityAsOwner } from "../../queries/server.ts";
import { NotGranted, openTenant, type TenantOptions, type TenantServices } from "./tenant.ts";

/** The owner of a tenant's database, and the login that serves it. */
export interface OwnedDatabase {
  /** The owner's connection. */
  connection: Connection;
  /** The login that serves; undefined if it is the owner's. */
  server?: string | undefined;
}

/**
 * Creates the database if necessary, migrates its schema to this binary's version, and grants the server's login its
 * rights. Returns the applied migrations.
 * @param requiredStandbys with fewer standbys, nothing in the database is changed
 * @throws Fault STANDBY_REQUIRED if too few are connected
 */
export async function prepareDatabase({ connection, server }: OwnedDatabase, requiredStandbys = 0): Promise<string[]> {
  await ensureDatabase(connection);
  const sql = connect(connection, { name: "migrate", max: 1 });
  try {
    if (requiredStandbys > 0) {
      const facts = await readDurabilityAsOwner(sql);
      const fault = standbysMissing({ ...facts, ...promisesOf(facts) }, requiredStandbys);
      if (fault) throw fault;
    }
    return await migrate(sql, { grants: GRANTS, server });
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/**
 * Opens a tenant for reading. Returns undefined if the tenant was never applied: it has no database, or an empty one.
 * If the server's login has no rights yet, the owner's login reads instead, in read-only sessions.
 * @throws Fault REFUSED if the schema has another version
 */
export async function openIfApplied(
  options: TenantOptions,
  owner: (refusal: Fault) => Promise<Connection>,
): Promise<TenantServices | undefined> {
  try {
    return await openUnlessEmpty(options);
  } catch (error) {
    if (!(error instanceof NotGranted)) throw error;
    return openUnlessEmpty({ ...options, connection: { ...(await owner(error)), readOnly: true } });
  }
}

async function openUnlessEmpty(options: TenantOptions): Promise<TenantServices | undefined> {
  try {
    return await openTenant(options);
  } catch (error) {
    const { cause } = error as Error;
    if (isMissingDatabase(cause) || cause instanceof SchemaMissing) return undefined;
    throw error;
  }
}
