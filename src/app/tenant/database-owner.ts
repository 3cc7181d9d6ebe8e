import { Fault } from "../../domain/fault.ts";
import { type Connection, connect } from "../../postgres/connect.ts";
import { administer, isDenied, isMissingDatabase, loginOf } from "../../postgres/database.ts";
import { hasLogin, requireLogin } from "../../postgres/migrate.ts";
import { type Ownership, readOwnership } from "../../queries/login.ts";

const TIMEOUT_MS = 10_000;

/**
 * Why the login of a connection cannot do the owner's work; undefined where it can. Also undefined where this is
 * unknown, because the database does not exist yet or does not answer.
 */
export async function ownerProblem(connection: Connection): Promise<string | undefined> {
  const sql = connect(connection, { name: "owner", max: 1, statementTimeoutMs: TIMEOUT_MS });
  try {
    return problemOf(await readOwnership(sql));
  } catch (error) {
    if (isMissingDatabase(error)) return undefined;
    if (isDenied(error)) return `names the login ${loginOf(connection)}, which may not even connect to the database`;
    return undefined;
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/**
 * Refuses a serving login that does not exist. Asks through the `postgres` database, because the tenant's may not exist
 * yet. If the server does not answer, the next connection reports it.
 * @throws Fault CONFIG_INVALID
 */
export async function requireServerLogin(connection: Connection, server: string): Promise<void> {
  try {
    await administer(connection, (sql) => requireLogin(sql, server));
  } catch (error) {
    if (error instanceof Fault) throw error;
  }
}

/** Whether the database's server has this login; false for a server that does not answer. */
export function knowsLogin(connection: Connection, login: string): Promise<boolean> {
  return administer(connection, (sql) => hasLogin(sql, login)).catch(() => false);
}

/** Why a login is not the owner, as the end of a sentence about the field; undefined when it is the owner. */
export function problemOf({ login, database, isOwner, owner }: Ownership): string | undefined {
  if (isOwner) return undefined;
  return `names the login ${login}, which does not own the database ${database}: ${owner} does`;
}

/** How to give pmctl the owner's login. @param isNamed whether the tenant file has a `database.ownerUrl` */
export function ownerRemedy(isNamed: boolean): string {
  return isNamed
    ? "put the connection string of the owner there"
    : "put the connection string of the owner into database.ownerUrl";
}
