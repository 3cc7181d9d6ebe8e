import type { Connection } from "../store/connect.ts";
import { externalConnection } from "../store/database.ts";
import { type Cluster, embeddedCluster } from "../store/embedded/cluster.ts";

/** A tenant's database as a command reaches it. */
export interface TenantDatabase {
  connection: Connection;
  /** The directory's own cluster, when the tenant says `database: embedded`. */
  cluster: Cluster | undefined;
}

/**
 * Makes sure that the tenant's database can be reached: starts the directory's embedded cluster if need be.
 * @param databaseUrl of an external database; undefined for the embedded one
 */
export async function openDatabase(
  directory: string,
  tenant: string,
  databaseUrl: string | undefined,
): Promise<TenantDatabase> {
  if (databaseUrl !== undefined) return { connection: await externalConnection(databaseUrl), cluster: undefined };
  const cluster = embeddedCluster(directory);
  await cluster.start();
  return { connection: cluster.connection(tenant), cluster };
}
