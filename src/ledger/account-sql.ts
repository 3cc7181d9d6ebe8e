import { type AccountKind, prefixOf } from "../domain/accounts.ts";
import type { ReadSql } from "../postgres/connect.ts";

// Literals, because the planner matches a partial index by the text of its condition.

/** The account of an owner, given as an SQL expression. */
export const accountOf = (sql: ReadSql, kind: AccountKind, owner: string) =>
  sql.unsafe(`'${prefixOf(kind)}' || ${owner}`);

/** Whether an account, given as an SQL expression, has this kind. */
export const isOfKind = (sql: ReadSql, kind: AccountKind, account: string) =>
  sql.unsafe(`${account} like '${prefixOf(kind)}%'`);

/** The owner of an account of this kind. */
export const ownerOf = (sql: ReadSql, kind: AccountKind, account: string) =>
  sql.unsafe(`substr(${account}, ${prefixOf(kind).length + 1})`);

/** An account as an SQL literal. */
export const literal = (sql: ReadSql, account: string) => sql.unsafe(`'${account}'`);
