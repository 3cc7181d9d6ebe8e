import type { OwnedDatabase } from "../../services/tenant/provision.ts";
import { openAsOwner } from "./database.ts";
import { databaseUrlsOf, readOperatorTenant } from "./operator-tenant.ts";

/**
 * The database of the tenant that a command means, as its owner and without the tenant's services: for commands that
 * work on the database itself. Starts the embedded one if need be.
 */
export async function openTenantDatabase(named?: string): Promise<OwnedDatabase & { tenant: string }> {
  const tenant = readOperatorTenant(named);
  return { tenant: tenant.id, ...(await openAsOwner(tenant.directory, tenant.id, databaseUrlsOf(tenant))) };
}
