import { processEnvironment } from "../../config/environment.ts";
import { requiredStandbys } from "../../config/tenant-config.ts";
import { parseDatabaseUrl } from "../../domain/access/database-address.ts";
import { Fault } from "../../domain/fault.ts";
import type { Connection } from "../../postgres/connect.ts";
import { prepareDatabase } from "../../services/tenant/provision.ts";
import { readOperatorTenant } from "../tenant/operator-tenant.ts";
import { openAsOwner } from "../tenant/tenant-database.ts";

export interface Migrated {
  tenant: string;
  /** The migrations that this run applied. */
  applied: string[];
}

/** Creates the tenant's database if there is none, and migrates its schema to this version. */
export async function migrateTenant(named: string | undefined): Promise<Migrated> {
  const tenant = readOperatorTenant(named);
  const owned = await openAsOwner(tenant);
  return { tenant: tenant.id, applied: await prepareDatabase(owned, requiredStandbys(tenant.config)) };
}

/** The first migration creates the tables: a database that has just received it had no servers. */
const FIRST = 1;

/** The notice to operators after these migrations; undefined where no server of the previous release can be running. */
export function noticeToServers(applied: readonly string[]): string | undefined {
  if (applied.length === 0 || applied.some((name) => Number(name.slice(0, 4)) === FIRST)) return undefined;
  return "Servers of the older version are still running: restart them one after the other, and use what this version adds only after that";
}

/**
 * Hands the terminal, or the pipe, to psql on the tenant's database, as its owner. Resolves to psql's exit code;
 * undefined when a signal ended it.
 * @throws Fault USAGE when psql is not installed
 */
export async function runPsql(named: string | undefined): Promise<number | undefined> {
  const { execa } = await import("execa");
  const { connection } = await openAsOwner(readOperatorTenant(named));
  const { exitCode, failed, cause } = await execa("psql", [], {
    stdio: "inherit",
    reject: false,
    env: { ...processEnvironment(), ...libpqVariables(connection) },
  });
  if (exitCode === undefined && failed && isMissing(cause))
    throw new Fault("USAGE", "psql is not installed; `pmctl db status` shows the address for any other client");
  return exitCode;
}

/** As variables, because every user of the machine can read the arguments, and so the password. */
function libpqVariables(connection: Connection): Record<string, string> {
  if (!("url" in connection)) {
    const { host, port, user, database } = connection;
    return { PGHOST: host, PGPORT: String(port), PGUSER: user, PGDATABASE: database };
  }
  const { hosts, user, password, name, parameters } = parseDatabaseUrl(connection.url);
  const variables = {
    PGHOST: hosts.map(({ host }) => host).join(),
    PGPORT: hosts.map(({ port }) => port).join(),
    PGUSER: user,
    PGPASSWORD: password,
    PGDATABASE: name,
    PGTARGETSESSIONATTRS: hosts.length > 1 ? "primary" : "",
    PGSSLMODE: parameters.sslmode ?? "",
    PGSSLROOTCERT: parameters.sslrootcert ?? "",
    PGCONNECT_TIMEOUT: parameters.connect_timeout ?? "",
  };
  return Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ""));
}

function isMissing(cause: unknown): boolean {
  return cause instanceof Error && "code" in cause && cause.code === "ENOENT";
}
