import { formatDatabaseUrl, parseDatabaseUrl } from "../../domain/access/database-address.ts";
import { Fault } from "../../domain/fault.ts";
import { withClient } from "../../postgres/connect.ts";
import { externalConnection } from "../../postgres/database.ts";
import { readDurability, readDurabilityAsOwner, type ServerReading } from "../../queries/server.ts";
import { databaseUrlOf, readOperatorTenant } from "../tenant/operator-tenant.ts";
import { type ClusterStatus, openTenantCluster } from "./tenant-cluster.ts";

/** The database server of a tenant, as `pmctl db status` shows it. */
export interface DatabaseStatus extends Omit<ClusterStatus, "dataDir" | "version"> {
  /** Whether the tenant file names a server of the operator's own. */
  external: boolean;
  /** Whether the tenant's database answers a statement. */
  reachable: boolean;
  /** Folder of the embedded server; null for an external one. */
  dataDir: string | null;
  /** Null while an external server does not answer. */
  version: string | null;
  /** The standbys that follow the server; empty where the login may not see them. */
  standbys: { name: string; state: string }[];
}

const STATEMENT_TIMEOUT_MS = 5000;

/**
 * Looks at the database server of the command's tenant, or of the directory. Starts nothing.
 * @throws ConfigError naming the missing connection string of an external database
 */
export async function databaseStatus(named: string | undefined): Promise<DatabaseStatus> {
  const url = externalUrl(named);
  if (url !== undefined) return statusOfExternal(url);
  const { cluster, database } = openTenantCluster(named);
  return statusOfCluster(await cluster.status(database));
}

/** The status of the directory's own server. */
export function statusOfCluster(status: ClusterStatus): DatabaseStatus {
  return { external: false, reachable: status.running, ...status, standbys: [] };
}

/** Undefined for a tenant with the embedded database, and where the line means no single tenant. */
function externalUrl(named: string | undefined): string | undefined {
  try {
    return databaseUrlOf(readOperatorTenant(named));
  } catch (error) {
    // The directory's own server needs no tenant, and no choice between several.
    if (error instanceof Fault && error.code === "USAGE") return undefined;
    throw error;
  }
}

async function statusOfExternal(url: string): Promise<DatabaseStatus> {
  const reading = await readExternal(url);
  const address = parseDatabaseUrl(url);
  const [{ host, port } = { host: "", port: 0 }] = address.hosts;
  return {
    external: true,
    reachable: reading !== undefined,
    running: reading !== undefined,
    dataDir: null,
    host: reading?.address?.host ?? host,
    port: reading?.address?.port ?? port,
    url: formatDatabaseUrl({ ...address, password: "" }),
    version: reading?.version ?? null,
    standbys: (reading?.standbys ?? []).map(({ name, state }) => ({ name, state })),
  };
}

/** Undefined for a database that does not answer. */
async function readExternal(url: string): Promise<ServerReading | undefined> {
  try {
    const connection = await externalConnection(url);
    const options = { name: "status", max: 1, statementTimeoutMs: STATEMENT_TIMEOUT_MS };
    return await withClient(connection, options, (sql) =>
      // Before the first apply the schema lacks the function that shows standbys to the login that serves.
      readDurability(sql).catch(() => readDurabilityAsOwner(sql)),
    );
  } catch (error) {
    if (error instanceof Fault) throw error;
    return undefined;
  }
}
