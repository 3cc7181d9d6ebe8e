import type { Connection } from "../store/connect.ts";
import { openDatabase } from "./database.ts";
import { databaseUrlOf, readOperatorTenant } from "./operator-tenant.ts";

/**
 * The database of the tenant that a command means, without the tenant's services: for commands that work on the
 * database itself. Starts the embedded one if need be.
 */
export async function openTenantDatabase(named?: string): Promise<{ tenant: string; connection: Connection }> {
  const tenant = readOperatorTenant(named);
  const { connection } = await openDatabase(tenant.directory, tenant.id, databaseUrlOf(tenant));
  return { tenant: tenant.id, connection };
}
