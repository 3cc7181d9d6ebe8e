import { invariant } from "../../domain/fault.ts";
import type { TimedKind } from "../../domain/market/short-id.ts";
import { marketsWithKey } from "../../ledger/market-names.ts";
import { textArray } from "../../postgres/arrays.ts";
import type { ReadSql } from "../../postgres/connect.ts";

/** The possible meanings of a text: a whole id or key, and an id prefix; null where it is too short for a prefix. */
export interface IdRef {
  ref: string;
  beginning: string | null;
}

export interface IdMatch {
  id: string;
  label: string;
}

/** The most matches of an ambiguous text that are named. */
export const MOST_MATCHES = 11;

/**
 * The matches of each text. A whole id means only itself. A key that is also the prefix of other markets' ids matches
 * all of them, or a key could take over a command for another market. Each text costs a few probes of an index: after
 * their prefix ids are hexadecimal digits, so in any collation those with a common prefix sort before that prefix and a
 * `z`.
 */
export async function findIds(sql: ReadSql, kind: TimedKind, refs: readonly IdRef[]): Promise<Map<string, IdMatch[]>> {
  const { rows: named, id, label } = namedRows(sql, kind);
  const found = await sql<{ ref: string; id: string; label: string }[]>`
    select r.ref, found.id, found.label
      from unnest(${textArray(refs.map(({ ref }) => ref))}::text[],
                  ${textArray(refs.map(({ beginning }) => beginning ?? ""))}::text[]) as r (ref, beginning)
     cross join lateral (
             with exact as materialized (
               select distinct ${id} as id, ${label} as label from ${named} where id = r.ref
             )
             select id, label from exact
              union all
             (select id, label
                from (${keyed(sql, kind)}
                      (select distinct ${id} as id, ${label} as label
                         from ${named}
                        where r.beginning <> ''
                          and ${id} >= r.beginning
                          and ${id} <= r.beginning || 'z'
                          and starts_with(${id}, r.beginning)
                        order by 1
                        limit ${MOST_MATCHES})) as other
               where not exists (select 1 from exact)
               order by id)) as found`;
  const matches = new Map<string, IdMatch[]>(refs.map(({ ref }) => [ref, []]));
  for (const { ref, ...match } of found) {
    const known = matches.get(ref);
    invariant(known, "a match belongs to a requested text");
    known.push(match);
  }
  return matches;
}

function namedRows(sql: ReadSql, kind: TimedKind) {
  switch (kind) {
    case "market":
      return { rows: sql`market`, id: sql`id`, label: sql`question` };
    case "withdrawal":
      return { rows: sql`withdrawal`, id: sql`id`, label: sql`trader_id` };
    case "trade":
      return { rows: sql`trade`, id: sql`id`, label: sql`trader_id` };
    case "proposal":
      return { rows: sql`proposal`, id: sql`id`, label: sql`kind` };
  }
}

/** The market with the text as its key, before a `union` with the matching ids. */
function keyed(sql: ReadSql, kind: TimedKind) {
  if (kind !== "market") return sql``;
  return sql`select id, question as label from market where id = any(${marketsWithKey(sql, sql`r.ref`)}) union`;
}
