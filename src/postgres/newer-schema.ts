import type { Sql } from "./connect.ts";

/** How a server begins in the middle of a rolling upgrade, whose migrations came before it. */
export interface NewerSchema {
  /** The columns that its statements give to each table. */
  writes: ReadonlyMap<string, readonly string[]>;
  /** Called with what the operator should know. */
  onBegin(notice: string): void;
}

/**
 * Whether each table has the columns that are written to it, and needs no other. A migration whose columns older servers cannot
 * keep gives them no default, so those that still run are refused by the same rule.
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
