import type { Sql } from "./connect.ts";

/** How a server starts during a rolling upgrade whose migrations ran before it. */
export interface NewerSchema {
  /** The columns that its statements write in each table. */
  writes: ReadonlyMap<string, readonly string[]>;
  /** Called with a notice for the operator. */
  onBegin(notice: string): void;
}

/**
 * Whether each table has the columns that are written to it, and requires no others. If older servers cannot write a
 * new column, its migration gives it no default, so that the same rule also refuses running servers.
 */
export async function takesRowsOf(sql: Sql, writes: NewerSchema["writes"]): Promise<boolean> {
  const columns = await sql<{ relname: string; attname: string; needed: boolean }[]>`
    select c.relname, a.attname, a.attnotnull and not a.atthasdef and a.attidentity = '' as needed
      from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'public'::regnamespace and c.relname in ${sql([...writes.keys()])}
       and a.attnum > 0 and not a.attisdropped`;
  return [...writes].every(([table, written]) => {
    const there = columns.filter(({ relname }) => relname === table);
    return (
      written.every((name) => there.some(({ attname }) => attname === name)) &&
      there.every(({ attname, needed }) => !needed || written.includes(attname))
    );
  });
}
