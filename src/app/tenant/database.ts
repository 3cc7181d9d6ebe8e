import { ConfigError } from "../../config/config-error.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import type { Connection } from "../../postgres/connect.ts";
import { externalConnection, loginOf } from "../../postgres/database.ts";
import { type Cluster, embeddedCluster } from "../../postgres/embedded/cluster.ts";
import { serverLogin } from "../../postgres/embedded/settings.ts";
import type { OwnedDatabase } from "../../services/tenant/provision.ts";
import { ownerProblem, ownerRemedy, requireServerLogin } from "./database-owner.ts";

/** The connection strings of an external database. */
export interface DatabaseUrls {
  /** As the login that serves. */
  url: string;
  /** As the owner; undefined where the login that serves is the owner. */
  ownerUrl: string | undefined;
  /** The tenant file that they stand in. */
  source: TenantConfig["source"];
}

/** A tenant's database as a server reaches it, and every command that creates nothing in it. */
export interface TenantDatabase {
  /** As the login that serves. */
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
  await cluster.start(tenant);
  return { connection: cluster.connection(tenant, serverLogin(tenant)), cluster };
}

/**
 * The same as the database's owner, for what creates, migrates or replaces it.
 * @param urls of an external database; undefined for the embedded one
 * @throws ConfigError when the login that is named is not the owner, Fault CONFIG_INVALID when the one that serves does not exist
 */
export async function openAsOwner(
  directory: string,
  tenant: string,
  urls: DatabaseUrls | undefined,
): Promise<OwnedDatabase> {
  if (urls === undefined) {
    const cluster = embeddedCluster(directory);
    await cluster.start(tenant);
    return { connection: cluster.connection(tenant), server: serverLogin(tenant) };
  }
  const { url, ownerUrl = url, source } = urls;
  const connection = await externalConnection(ownerUrl);
  const login = loginOf({ url });
  const server = login === loginOf(connection) ? undefined : login;
  if (server !== undefined) await requireServerLogin(connection, server);
  const problem = await ownerProblem(connection);
  if (problem !== undefined) {
    const isNamed = urls.ownerUrl !== undefined;
    const path = ["database", isNamed ? "ownerUrl" : "url"];
    throw new ConfigError(source.problems([{ path, message: `${problem}; ${ownerRemedy(isNamed)}` }]));
  }
  return { connection, server };
}
