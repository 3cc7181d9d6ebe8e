import { FEES } from "../../domain/accounts.ts";
import { isOfKind, literal } from "../../ledger/account-sql.ts";
import type { ReadSql, Row } from "../../postgres/connect.ts";

export interface StatementRow {
  seq: number;
  /** Which of the entry's transfers; entries of older versions may hold several that move the same wallet. */
  leg: number;
  /** ISO 8601, as the audit entry has it. */
  ts: string;
  type: string;
  /** Positive into the wallet. */
  amountMicro: bigint;
  /** Of the wallet after this entry. */
  balanceMicro: bigint;
  /** Of the audit entry: what it is about. */
  payload: string;
}

export interface StatementQuery {
  traderId: string;
  /** Its wallet's account. */
  wallet: string;
  /** Where to begin, with the balance after that entry; the newest unless given. */
  from?: { seq: number; leg: number; balanceMicro: bigint } | undefined;
  limit: number;
}

/**
 * Changes of a wallet, newest first. Purchases come from the trader's trades, everything else from two partial indexes
 * of the transfers that purchases do not enter. The balance is counted back from where the page begins.
 */
export async function listStatement(
  sql: ReadSql,
  { traderId, wallet, from, limit }: StatementQuery,
): Promise<StatementRow[]> {
  const reached = from ? sql`and seq <= ${from.seq}` : sql``;
  const reachedLeg = from ? sql`and (seq < ${from.seq} or leg <= ${from.leg})` : sql``;
  const page = sql`order by seq desc, leg desc limit ${limit}`;
  const rows = await sql`
    select w.seq, w.leg, w.amount_micro, a.type, a.ts, a.payload, coalesce(c.balance_micro, 0)::bigint as newest_balance
      from (
        (select seq, leg, amount_micro from transfer
          where credit = ${wallet} and ${isOfKind(sql, "wallet", "credit")} ${reached} ${reachedLeg} ${page})
        union all
        (select seq, leg, -amount_micro from transfer
          where debit = ${wallet} and ${isOfKind(sql, "wallet", "debit")}
            and not ${isOfKind(sql, "escrow", "credit")} and credit <> ${literal(sql, FEES)} ${reached} ${reachedLeg} ${page})
        union all
        (select seq, 0, -amount_micro from trade
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
    const entry = { ...toEntry(row), amountMicro, balanceMicro };
    balanceMicro -= amountMicro;
    return entry;
  });
}

function toEntry(row: Row): Pick<StatementRow, "seq" | "leg" | "ts" | "type" | "payload"> {
  return { seq: Number(row.seq), leg: Number(row.leg), ts: row.ts, type: row.type, payload: row.payload };
}
