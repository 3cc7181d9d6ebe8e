import type { Withdrawal } from "../engine/rows.ts";
import { textArray } from "../postgres/arrays.ts";
import type { ReadSql, Row } from "../postgres/connect.ts";

/** Withdrawals by id. */
export async function loadWithdrawals(sql: ReadSql, ids: string[]): Promise<Map<string, Withdrawal>> {
  const rows = await sql`
    select id, trader_id, amount_micro, status, created_at, decided_at, version
      from withdrawal
     where id = any(${textArray(ids)}::text[])`;
  return new Map(rows.map((row) => [row.id as string, toWithdrawal(row)]));
}

/** A row with all columns of `withdrawal`. */
export function toWithdrawal(row: Row): Withdrawal {
  return {
    id: row.id,
    traderId: row.trader_id,
    amountMicro: BigInt(row.amount_micro),
    status: row.status,
    createdAt: Number(row.created_at),
    decidedAt: row.decided_at === null ? null : Number(row.decided_at),
    version: Number(row.version),
  };
}
