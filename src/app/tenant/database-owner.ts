import { Fault } from "../../domain/fault.ts";
import { type Connection, connect } from "../../postgres/connect.ts";
import { administer, isDenied, isMissingDatabase, loginOf } from "../../postgres/database.ts";
import { hasLogin, requireLogin } from "../../postgres/migrate.ts";
import { type Ownership, readOwnership } from "../../queries/login.ts";

const TIMEOUT_MS = 10_000;

/**
 * Why the login of a connection cannot do the owner's work; undefined where it can, and where that cannot be known: the
 * database does not exist yet, or does not answer.
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
 * yet; a server that cannot be asked is reported by the next connection.
 * @throws Fault CONFIG_INVALID
 */
export async function requireServerLogin(connection: Connection, server: string): Promise<void> {
  try {
    await administer(connection, (sql) => requireLogin(sql, server));
  } catch (error) {
    if (error instanceof Fault) throw error;
  }
}

/** Whether the database's server has such a login; one that cannot be asked has none. */
export function knowsLogin(connection: Connection, login: string): Promise<boolean> {
  return administer(connection, (sql) => hasLogin(sql, login)).catch(() => false);
}

/** Why a login is not the owner, worded to follow the field's name; undefined when it is. */
export function problemOf({ login, database, isOwner, owner }: Ownership): string | undefined {
  if (isOwner) return undefined;
  return `names the login ${login}, which does not own the database ${database}: ${owner} does`;
}

/** What to do about a login that is not the owner. @param isNamed whether the tenant file has a `database.ownerUrl` */
export function ownerRemedy(isNamed: boolean): string {
  return isNamed
    ? "put the connection string of the owner there"
    : "put the connection string of the owner into database.ownerUrl";
}
