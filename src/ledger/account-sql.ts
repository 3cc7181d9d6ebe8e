import { type AccountKind, prefixOf } from "../domain/accounts.ts";
import type { ReadSql } from "../postgres/connect.ts";

// As literals: the planner finds a partial index by the text of its condition.

/** The account of the owner that an SQL expression names. */
export const accountOf = (sql: ReadSql, kind: AccountKind, owner: string) =>
  sql.unsafe(`'${prefixOf(kind)}' || ${owner}`);

/** Whether the account that an SQL expression names is of a kind. */
export const isOfKind = (sql: ReadSql, kind: AccountKind, account: string) =>
  sql.unsafe(`${account} like '${prefixOf(kind)}%'`);

/** The owner of an account of the kind. */
export const ownerOf = (sql: ReadSql, kind: AccountKind, account: string) =>
  sql.unsafe(`substr(${account}, ${prefixOf(kind).length + 1})`);

/** An account as an SQL literal. */
export const literal = (sql: ReadSql, account: string) => sql.unsafe(`'${account}'`);
