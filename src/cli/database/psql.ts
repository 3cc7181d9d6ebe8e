import { execa } from "execa";
import { openTenantDatabase } from "../../app/tenant/tenant-database.ts";
import { processEnvironment } from "../../config/environment.ts";
import { Fault } from "../../domain/fault.ts";
import type { Connection } from "../../postgres/connect.ts";
import { EXIT, type ExitCode } from "../errors.ts";

/** What psql ends with when it could not connect, or lost the connection. */
const PSQL_NO_CONNECTION = 2;

/**
 * Hands the terminal, or the pipe, to psql on the tenant's database, as its owner.
 * @throws Fault USAGE when psql is not installed
 */
export async function runDbShell(options: { tenant?: string | undefined }): Promise<ExitCode> {
  const { connection } = await openTenantDatabase(options.tenant);
  const { exitCode, failed, cause } = await execa("psql", [], {
    stdio: "inherit",
    reject: false,
    env: { ...processEnvironment(), ...libpqVariables(connection) },
  });
  if (exitCode === undefined && failed && isMissing(cause))
    throw new Fault("USAGE", "psql is not installed; `pmctl db status` shows the address for any other client");
  if (exitCode === 0) return EXIT.ok;
  return exitCode === PSQL_NO_CONNECTION ? EXIT.unreachable : EXIT.unexpected;
}

/** As variables and not as arguments, because every user of the machine sees those, password and all. */
function libpqVariables(connection: Connection): Record<string, string> {
  if (!("url" in connection)) {
    const { host, port, user, database } = connection;
    return { PGHOST: host, PGPORT: String(port), PGUSER: user, PGDATABASE: database };
  }
  const { hostname, port, username, password, pathname, searchParams } = new URL(connection.url);
  const variables = {
    PGHOST: decodeURIComponent(hostname).replace(/^\[|\]$/g, "") || (searchParams.get("host") ?? ""),
    PGPORT: port || (searchParams.get("port") ?? ""),
    PGUSER: decodeURIComponent(username),
    PGPASSWORD: decodeURIComponent(password),
    PGDATABASE: decodeURIComponent(pathname.slice(1)),
    PGSSLMODE: searchParams.get("sslmode") ?? "",
    PGSSLROOTCERT: searchParams.get("sslrootcert") ?? "",
  };
  return Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ""));
}

function isMissing(cause: unknown): boolean {
  return cause instanceof Error && "code" in cause && cause.code === "ENOENT";
}
