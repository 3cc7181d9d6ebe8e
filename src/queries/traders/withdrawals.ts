import type { Withdrawal, WithdrawalStatus } from "../../engine/rows.ts";
import { TABLES } from "../../ledger/tables.ts";
import type { ReadSql } from "../../postgres/connect.ts";

export interface WithdrawalQuery {
  status?: WithdrawalStatus | undefined;
  /** Only withdrawals before this id; ids ascend with time. */
  before?: string | undefined;
  limit: number;
}

/** Newest first. */
export async function listWithdrawals(sql: ReadSql, { status, before, limit }: WithdrawalQuery): Promise<Withdrawal[]> {
  const rows = await sql`
    select ${sql.unsafe(TABLES.withdrawal.selected())}
      from withdrawal
     where true
       ${status ? sql`and status = ${status}` : sql``}
       ${before === undefined ? sql`` : sql`and id < ${before}`}
     order by id desc
     limit ${limit}`;
  return rows.map((stored) => TABLES.withdrawal.decode(stored));
}

/** Whose withdrawal it is; undefined when there is none of this id. */
export async function ownerOfWithdrawal(sql: ReadSql, id: string): Promise<string | undefined> {
  const [row] = await sql<{ trader_id: string }[]>`select trader_id from withdrawal where id = ${id}`;
  return row?.trader_id;
}
