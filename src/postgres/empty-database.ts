import postgres from "postgres";
import { Fault } from "../domain/fault.ts";
import { COMMITS_TO_DISK } from "./commit-setting.ts";
import { type Connection, type Sql, withClient } from "./connect.ts";
import { ensureDatabase, unusable } from "./database.ts";

const DUPLICATE_TABLE = "42P07";

/**
 * Marks an empty database as being filled, and creates it if it is missing. Until `finishDatabase`, no process of any
 * tenant opens it, whatever ends this process.
 * @throws Fault REFUSED if the database contains anything, including an interrupted restore
 */
export async function claimEmptyDatabase(connection: Connection): Promise<void> {
  await ensureDatabase(connection);
  await withClient(connection, { name: "restore", max: 1 }, async (sql) => {
    if (await isUnfinished(sql)) throw unfinished();
    if (await holdsAnything(sql))
      throw new Fault("REFUSED", "The database is not empty: a restore goes into a new one, and nothing was written");
    try {
      // Unlogged, so that no backup contains it: a crash empties the table but does not remove it.
      await sql`create unlogged table unfinished_restore ()`;
    } catch (error) {
      if (error instanceof postgres.PostgresError && error.code === DUPLICATE_TABLE) throw unfinished();
      throw unusable(error);
    }
  });
}

/** From now on the database is opened like any other; everything written before is on disk. */
export async function finishDatabase(connection: Connection): Promise<void> {
  await withClient(connection, { name: "restore", max: 1 }, (sql) =>
    sql.unsafe(`select ${COMMITS_TO_DISK}; drop table unfinished_restore`),
  );
}

/** Removes everything that was written to a marked database since `claimEmptyDatabase`, and the mark. */
export async function emptyDatabase(connection: Connection): Promise<void> {
  await withClient(connection, { name: "restore", max: 1 }, async (sql) => {
    const drops = await sql<{ drop: string }[]>`
      select format('drop %s if exists %s cascade', i.type, i.identity) as drop
        from ${objects(sql)}
       cross join lateral pg_identify_object(d.classid, d.objid, 0) i`;
    await sql.unsafe(["begin", ...drops.map(({ drop }) => drop), "commit"].join("; "));
  });
}

/** Whether a restore into the database is unfinished. */
export async function isUnfinished(sql: Sql): Promise<boolean> {
  const [row] = await sql`select to_regclass('public.unfinished_restore') is not null as is`;
  return row?.is === true;
}

/** The error for a database with a partial or unchecked backup. */
export function unfinished(): Fault {
  return new Fault(
    "REFUSED",
    "The database contains an unfinished restore and is not used: drop it, create it again (dropdb, createdb), and repeat the restore",
  );
}

/** The database is empty: nothing was applied to it yet. */
export class SchemaMissing extends Fault {
  constructor() {
    super("REFUSED", "The database has no tables yet: run pmctl apply");
    this.name = "SchemaMissing";
  }
}

async function holdsAnything(sql: Sql): Promise<boolean> {
  const rows = await sql`select 1 from ${objects(sql)} limit 1`;
  return rows.length > 0;
}

/** Every object of a schema depends on it in the catalog. Objects of extensions do not count. */
function objects(sql: Sql) {
  return sql`(
    select d.classid, d.objid
      from pg_depend d
      join pg_namespace n on n.oid = d.refobjid and d.refclassid = 'pg_namespace'::regclass
     where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
       and d.classid not in ('pg_extension'::regclass, 'pg_default_acl'::regclass)
       and not exists (
             select 1 from pg_depend e where e.classid = d.classid and e.objid = d.objid and e.deptype = 'e')) d`;
}
