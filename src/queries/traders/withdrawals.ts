import type { Withdrawal, WithdrawalStatus } from "../../engine/rows.ts";
import { toWithdrawal } from "../../ledger/load-funding.ts";
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
    select id, trader_id, amount_micro, status, created_at, decided_at, version
      from withdrawal
     where true
       ${status ? sql`and status = ${status}` : sql``}
       ${before === undefined ? sql`` : sql`and id < ${before}`}
     order by id desc
     limit ${limit}`;
  return rows.map(toWithdrawal);
}

/** Whose withdrawal it is; undefined when there is none of this id. */
export async function ownerOfWithdrawal(sql: ReadSql, id: string): Promise<string | undefined> {
  const [row] = await sql<{ trader_id: string }[]>`select trader_id from withdrawal where id = ${id}`;
  return row?.trader_id;
}
