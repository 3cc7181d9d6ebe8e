import { FEES } from "../../domain/accounts.ts";
import type { Withdrawal, WithdrawalStatus } from "../../engine/rows.ts";
import { isOfKind, literal } from "../../ledger/account-sql.ts";
import { TABLES } from "../../ledger/tables.ts";
import type { ReadSql, Row } from "../../postgres/connect.ts";

export interface StatementRow {
  seq: number;
  /** Which transfer of the entry: a payment may repay a debt and fill the wallet. */
  leg: number;
  /** In ISO 8601, as in the audit entry. */
  ts: string;
  type: string;
  /** Positive for money into the wallet. */
  amountMicro: bigint;
  /** The increase of the user's debt, which never was in the wallet; negative for a repayment. */
  owedMicro: bigint;
  /** The wallet's balance after this entry. */
  balanceMicro: bigint;
  /** The audit entry's payload, which says what it is about. */
  payload: string;
}

export interface StatementQuery {
  traderId: string;
  /** The account of the user's wallet. */
  wallet: string;
  /** The account of the user's debt. */
  receivable: string;
  /** The first entry of the page, with the balance after it; the newest entry unless given. */
  from?: { seq: number; leg: number; balanceMicro: bigint } | undefined;
  limit: number;
}

/**
 * Changes of a wallet and of its user's debt, newest first. Purchases come from the trader's trades, everything else
 * from partial indexes of the transfers without purchases. The balance is counted back from the first entry.
 */
export async function listStatement(
  sql: ReadSql,
  { traderId, wallet, receivable, from, limit }: StatementQuery,
): Promise<StatementRow[]> {
  const reached = from ? sql`and seq <= ${from.seq}` : sql``;
  const reachedLeg = from ? sql`and (seq < ${from.seq} or leg <= ${from.leg})` : sql``;
  const page = sql`order by seq desc, leg desc limit ${limit}`;
  const rows = await sql`
    select w.seq, w.leg, w.amount_micro, w.owed_micro, a.type, a.ts, a.payload, coalesce(c.balance_micro, 0)::bigint as newest_balance
      from (
        (select seq, leg, amount_micro, 0 as owed_micro from transfer
          where credit = ${wallet} and ${isOfKind(sql, "wallet", "credit")} ${reached} ${reachedLeg} ${page})
        union all
        (select seq, leg, -amount_micro, 0 from transfer
          where debit = ${wallet} and ${isOfKind(sql, "wallet", "debit")}
            and not ${isOfKind(sql, "escrow", "credit")} and credit <> ${literal(sql, FEES)} ${reached} ${reachedLeg} ${page})
        union all
        (select seq, leg, 0, -amount_micro from transfer
          where credit = ${receivable} and ${isOfKind(sql, "receivable", "credit")} ${reached} ${reachedLeg} ${page})
        union all
        (select seq, leg, 0, amount_micro from transfer
          where debit = ${receivable} and ${isOfKind(sql, "receivable", "debit")} ${reached} ${reachedLeg} ${page})
        union all
        (select seq, 0, -amount_micro, 0 from trade
          where trader_id = ${traderId} and released_micro is null ${reached}
          order by seq desc limit ${limit})
      ) w
      join audit a on a.seq = w.seq
      left join account c on c.id = ${wallet}
     order by w.seq desc, w.leg desc
     limit ${limit}`;
  let balanceMicro = from?.balanceMicro ?? BigInt(rows[0]?.newest_balance ?? 0);
  return rows.map((row) => {
    const amountMicro = BigInt(row.amount_micro);
    const entry = { ...toEntry(row), amountMicro, owedMicro: BigInt(row.owed_micro), balanceMicro };
    balanceMicro -= amountMicro;
    return entry;
  });
}

function toEntry(row: Row): Pick<StatementRow, "seq" | "leg" | "ts" | "type" | "payload"> {
  return { seq: Number(row.seq), leg: Number(row.leg), ts: row.ts, type: row.type, payload: row.payload };
}

export interface WithdrawalQuery {
  status?: WithdrawalStatus | undefined;
  traderId?: string | undefined;
  /** Only withdrawals before this id; ids ascend with time. */
  before?: string | undefined;
  limit: number;
}

/** Newest first. */
export async function listWithdrawals(sql: ReadSql, query: WithdrawalQuery): Promise<Withdrawal[]> {
  const { status, traderId, before, limit } = query;
  const rows = await sql`
    select ${sql.unsafe(TABLES.withdrawal.selected())}
      from withdrawal
     where true
       ${status ? sql`and status = ${status}` : sql``}
       ${traderId === undefined ? sql`` : sql`and trader_id = ${traderId}`}
       ${before === undefined ? sql`` : sql`and id < ${before}`}
     order by id desc
     limit ${limit}`;
  return rows.map((stored) => TABLES.withdrawal.decode(stored));
}

/** The owner of a withdrawal; undefined for an unknown id. */
export async function ownerOfWithdrawal(sql: ReadSql, id: string): Promise<string | undefined> {
  const [row] = await sql<{ trader_id: string }[]>`select trader_id from withdrawal where id = ${id}`;
  return row?.trader_id;
}
