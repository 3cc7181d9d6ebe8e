import postgres from "postgres";
import { parseDatabaseUrl } from "../domain/access/database-address.ts";
import { Fault } from "../domain/fault.ts";
import { COMMITS_TO_DISK } from "./commit-setting.ts";
import { type Connection, classify, confirmed, connect, type Sql, Unconfirmed } from "./connect.ts";
import { administer, atDatabase, ensureDatabase } from "./database.ts";
import { quoted } from "./embedded/connection.ts";

const OBJECT_IN_USE = "55006";
const LONGEST_NAME = 63;

/** A database that is being prepared to replace another. */
export interface Replacement {
  connection: Connection;
  /** The name under which the replaced database is kept; undefined if there is none. */
  keptAs: string | undefined;
  /**
   * Replaces the other database in one step: whatever ends this process, one of the two is complete.
   * @throws Fault REFUSED while a session is connected to the old database, or if it was created or dropped meanwhile
   */
  takeOver(): Promise<void>;
  drop(): Promise<void>;
}

/**
 * Creates an empty database to replace the connection's own.
 *
 * @param stamp distinguishes it and the replaced database from others, such as `20270131t120000z`
 * @throws Fault REFUSED while a session is connected to the database that will be replaced
 */
export async function createReplacement(connection: Connection, stamp: string): Promise<Replacement> {
  const name = databaseName(connection);
  const exists = await administer(connection, async (sql) => {
    await refuseWhileInUse(sql, name);
    return isThere(sql, name);
  });
  const fresh = freshName(name, stamp);
  const kept = `${name.slice(0, LONGEST_NAME - 8 - stamp.length)}_before_${stamp}`;
  const keptAs = exists ? kept : undefined;
  const replacement = atDatabase(connection, fresh);
  await ensureDatabase(replacement);
  // For the duration of the restore, this session shows that the database is not a leftover (`dropLeftovers`).
  const hold = connect(replacement, { name: "restore", max: 1 });
  await hold`select 1`;
  const letGo = () => hold.end({ timeout: 5 });
  return {
    connection: replacement,
    keptAs,
    takeOver: async () => {
      await letGo();
      await administer(connection, (sql) => swap(sql, { name, fresh, keptAs }));
    },
    drop: async () => {
      await letGo();
      await administer(connection, (sql) => sql.unsafe(`drop database if exists ${quoted(fresh)}`));
    },
  };
}

const STAMP = /^\d{14}$/;

function freshName(name: string, stamp: string): string {
  return `${name.slice(0, LONGEST_NAME - 9 - stamp.length)}_restore_${stamp}`;
}

/**
 * Drops the databases of killed restores, which nothing else removes. A database with a session belongs to a running
 * restore, and stays.
 * @returns the names of the dropped databases; none if the login may not drop databases
 */
export async function dropLeftovers(connection: Connection): Promise<string[]> {
  const start = freshName(databaseName(connection), "0".repeat(14)).slice(0, -14);
  return administer(connection, async (sql) => {
    const rows = await sql<{ name: string }[]>`
      select d.datname as name
        from pg_database d
       where starts_with(d.datname::text, ${start})
         and not exists (select 1 from pg_stat_activity a where a.datname = d.datname)
       order by 1`;
    const dropped: string[] = [];
    for (const { name } of rows.filter((row) => STAMP.test(row.name.slice(start.length)))) {
      // If a database cannot be dropped now, the next restore tries again; no restore fails because of it.
      const isGone = await sql.unsafe(`drop database ${quoted(name)}`).then(
        () => true,
        () => false,
      );
      if (isGone) dropped.push(name);
    }
    return dropped;
  });
}

/** The database that a connection names. */
export function databaseName(connection: Connection): string {
  return "url" in connection ? parseDatabaseUrl(connection.url).name : connection.database;
}

interface Swap {
  name: string;
  fresh: string;
  keptAs: string | undefined;
}

/** Both renames in one message, which is one transaction. */
async function swap(sql: Sql, { name, fresh, keptAs }: Swap): Promise<void> {
  await refuseWhileInUse(sql, name);
  if ((await isThere(sql, name)) !== (keptAs !== undefined))
    throw new Fault(
      "REFUSED",
      `The database ${name} was created or dropped during the restore: start the restore again`,
    );
  const rename = (from: string, to: string) => `alter database ${quoted(from)} rename to ${quoted(to)};`;
  try {
    await confirmed(
      sql,
      sql
        .unsafe(`select ${COMMITS_TO_DISK}; ${keptAs === undefined ? "" : rename(name, keptAs)} ${rename(fresh, name)}`)
        .simple(),
    );
  } catch (error) {
    if (classify(error) instanceof Unconfirmed)
      throw new Fault("OUTCOME_UNKNOWN", "Whether the backup is in place is not known: look with pmctl audit list", {
        cause: error,
      });
    if (error instanceof postgres.PostgresError && error.code === OBJECT_IN_USE) throw inUse(name, []);
    throw error;
  }
}

async function isThere(sql: Sql, name: string): Promise<boolean> {
  const rows = await sql`select 1 from pg_database where datname = ${name}`;
  return rows.length > 0;
}

async function refuseWhileInUse(sql: Sql, name: string): Promise<void> {
  const users = await sql<{ name: string }[]>`
    select distinct coalesce(nullif(application_name, ''), 'a client without a name') as name
      from pg_stat_activity
     where datname = ${name} and pid <> pg_backend_pid()
       -- Only a login itself and superusers see what kind its sessions are.
       and (backend_type = 'client backend' or backend_type is null and usesysid is not null)`;
  if (users.length > 0)
    throw inUse(
      name,
      users.map((user) => user.name),
    );
}

function inUse(name: string, users: string[]): Fault {
  const who = users.length === 0 ? "" : ` (${users.slice(0, 5).join(", ")})`;
  return new Fault("REFUSED", `The database ${name} is in use${who}: stop the tenant's servers first`);
}
