import postgres from "postgres";
import { Fault } from "../domain/fault.ts";
import { COMMITS_TO_DISK } from "./commit-setting.ts";
import { type Connection, type Sql, withClient } from "./connect.ts";
import { ensureDatabase, unusable } from "./database.ts";

const DUPLICATE_TABLE = "42P07";

/**
 * Marks an empty database as one that is being filled; it is created where it is missing. Until `finishDatabase` no
 * process of any tenant opens it, whatever ends this one.
 * @throws Fault REFUSED when the database holds anything, a cut off restore among it
 */
export async function claimEmptyDatabase(connection: Connection): Promise<void> {
  await ensureDatabase(connection);
  await withClient(connection, { name: "restore", max: 1 }, async (sql) => {
    if (await isUnfinished(sql)) throw unfinished();
    if (await holdsAnything(sql))
      throw new Fault("REFUSED", "The database is not empty: a restore goes into a new one, and nothing was written");
    try {
      // Not logged, so that no backup holds it: a crash empties the table and does not remove it.
      await sql`create unlogged table unfinished_restore ()`;
    } catch (error) {
      if (error instanceof postgres.PostgresError && error.code === DUPLICATE_TABLE) throw unfinished();
      throw unusable(error);
    }
  });
}

/** From now on the database is opened like any other, and all that was written into it before is on the disk. */
export async function finishDatabase(connection: Connection): Promise<void> {
  await withClient(connection, { name: "restore", max: 1 }, (sql) =>
    sql.unsafe(`select ${COMMITS_TO_DISK}; drop table unfinished_restore`),
  );
}

/** Takes out of a database that `claimEmptyDatabase` marked all that was written into it since, and the mark with it. */
export async function emptyDatabase(connection: Connection): Promise<void> {
  await withClient(connection, { name: "restore", max: 1 }, async (sql) => {
    const drops = await sql<{ drop: string }[]>`
      select format('drop %s if exists %s cascade', i.type, i.identity) as drop
        from ${objects(sql)}
       cross join lateral pg_identify_object(d.classid, d.objid, 0) i`;
    await sql.unsafe(["begin", ...drops.map(({ drop }) => drop), "commit"].join("; "));
  });
}

/** Whether a restore into the database has not come to its end. */
export async function isUnfinished(sql: Sql): Promise<boolean> {
  const [row] = await sql`select to_regclass('public.unfinished_restore') is not null as is`;
  return row?.is === true;
}

/** The refusal of a database that holds a part of a backup, or one that was not checked. */
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

/** Every object of a schema depends on it in the catalog. What belongs to extensions does not count. */
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
