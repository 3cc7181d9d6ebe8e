import type { Connection } from "../store/connect.ts";
import { openDatabase } from "./database.ts";
import { readOperatorTenant } from "./operator-tenant.ts";

/**
 * The database of the tenant that a command means, without the tenant's services: for commands that work on the
 * database itself. Starts the embedded one if need be.
 */
export async function openTenantDatabase(named?: string): Promise<{ tenant: string; connection: Connection }> {
  const { id, directory, config, secret } = readOperatorTenant(named);
  const databaseUrl = config.database === "embedded" ? undefined : secret(config.database.url, ["database", "url"]);
  const { connection } = await openDatabase(directory, id, databaseUrl);
  return { tenant: id, connection };
}
