import { ConfigError } from "../../config/config-error.ts";
import { loadEnvironment } from "../../config/environment.ts";
import { resolveOwnerUrl, resolveTenant, type TenantSecrets } from "../../config/resolve-tenant.ts";
import type { DirectorySecrets } from "../../config/secrets/secret-values.ts";
import { Fault } from "../../domain/fault.ts";
import type { Connection } from "../../postgres/connect.ts";
import { externalConnection, loginOf } from "../../postgres/database.ts";
import { type Cluster, embeddedCluster } from "../../postgres/embedded/cluster.ts";
import { serverLogin } from "../../postgres/embedded/settings.ts";
import type { OwnedDatabase } from "../../services/tenant/provision.ts";
import { knowsLogin, ownerProblem, ownerRemedy, requireServerLogin } from "./database-owner.ts";
import {
  type DatabaseUrls,
  type DeclaredTenant,
  databaseUrlAtHand,
  databaseUrlIn,
  databaseUrlOf,
  databaseUrlsOf,
  type OperatorTenant,
} from "./operator-tenant.ts";

/** A tenant's database, connected as the login that serves: for the server, and commands that create nothing. */
export interface TenantDatabase {
  connection: Connection;
  /** The directory's own cluster, for `database: embedded`. */
  cluster: Cluster | undefined;
}

/**
 * Connects as the login that serves; starts the directory's embedded cluster if it is stopped.
 * @param databaseUrl of an external database; undefined for the embedded one
 */
export async function openAsServer(
  tenant: OperatorTenant,
  databaseUrl: string | undefined = databaseUrlOf(tenant),
): Promise<TenantDatabase> {
  if (databaseUrl !== undefined) return { connection: await externalConnection(databaseUrl), cluster: undefined };
  const { id, directory } = tenant;
  const cluster = embeddedCluster(directory);
  await cluster.start(id);
  return { connection: cluster.connection(id, serverLogin(id)), cluster };
}

/**
 * Connects as the database's owner, for work that creates, migrates or replaces the database.
 * @param urls of an external database; undefined for the embedded one
 * @throws ConfigError when the named login is not the owner, Fault CONFIG_INVALID when the serving one is missing
 */
export async function openAsOwner(
  tenant: OperatorTenant,
  urls: DatabaseUrls | undefined = databaseUrlsOf(tenant),
): Promise<OwnedDatabase> {
  const { id, directory, config } = tenant;
  if (urls === undefined) {
    const cluster = embeddedCluster(directory);
    await cluster.start(id);
    return { connection: cluster.connection(id), server: serverLogin(id) };
  }
  const { url, ownerUrl = url } = urls;
  const connection = await externalConnection(ownerUrl);
  const login = loginOf({ url });
  const server = login === loginOf(connection) ? undefined : login;
  if (server !== undefined) await requireServerLogin(connection, server);
  const problem = await ownerProblem(connection);
  if (problem !== undefined) {
    const isNamed = urls.ownerUrl !== undefined;
    const path = ["database", isNamed ? "ownerUrl" : "url"];
    throw new ConfigError(config.source.problems([{ path, message: `${problem}; ${ownerRemedy(isNamed)}` }]));
  }
  return { connection, server };
}

/**
 * Connects to the database in a variable, as its owner. The login that serves the tenant is included if that database's
 * server has it.
 * @throws Fault CONFIG_INVALID when the variable is missing, is no connection string, or does not name the owner
 */
export async function openStated(tenant: OperatorTenant, variable: string): Promise<OwnedDatabase> {
  const connection = await externalConnection(databaseUrlIn(tenant, variable));
  const problem = await ownerProblem(connection);
  if (problem !== undefined)
    throw new Fault("CONFIG_INVALID", `The connection string in ${variable} ${problem}: it must be the owner's`);
  const url = databaseUrlAtHand(tenant, "url");
  const login = url === undefined ? undefined : loginOf({ url });
  const serves = login !== undefined && login !== loginOf(connection) && (await knowsLogin(connection, login));
  return { connection, server: serves ? login : undefined };
}

/** A tenant with its secrets and its database, for serving it and applying to it. */
export interface ReadyTenant extends DeclaredTenant {
  secrets: TenantSecrets;
  database: TenantDatabase;
  /** Connects as the owner. @throws ConfigError when the owner's connection string is missing */
  openAsOwner(): Promise<OwnedDatabase>;
}

/**
 * Resolves all of a tenant's secrets and connects to its database.
 * @param others the other tenants' secrets, which a command on many tenants shares
 * @throws ConfigError with every missing secret
 */
export async function readyTenant(tenant: DeclaredTenant, others?: DirectorySecrets): Promise<ReadyTenant> {
  const { config, directory } = tenant;
  const environment = loadEnvironment(directory);
  const secrets = resolveTenant(config, environment, others);
  const { databaseUrl: url } = secrets;
  return {
    ...tenant,
    secrets,
    database: await openAsServer(tenant, url),
    openAsOwner: async () =>
      openAsOwner(tenant, url === undefined ? undefined : { url, ownerUrl: resolveOwnerUrl(config, environment) }),
  };
}
