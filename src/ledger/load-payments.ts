import { type Payment, receiptKey } from "../engine/rows.ts";
import type { ReadSql } from "../postgres/connect.ts";
import { byKey, columns } from "./load.ts";

/** Payments by `receiptKey(provider, reference)`. */
export async function loadPayments(sql: ReadSql, keys: string[]): Promise<Map<string, Payment>> {
  const [providers, references] = columns(keys);
  const rows = await sql`
    select provider, reference, user_id, credited_micro, received_micro, refunds_micro, refund_total_micro,
           refunds_failed_micro, disputed_micro, disputes_won_micro, taken_back_micro, version
      from payment
     where (provider, reference) in (select * from unnest(${providers}::text[], ${references}::text[]))`;
  return byKey(
    rows.map((row) => ({
      provider: row.provider as string,
      reference: row.reference as string,
      userId: row.user_id as string,
      creditedMicro: BigInt(row.credited_micro),
      receivedMicro: row.received_micro === null ? null : BigInt(row.received_micro),
      refundsMicro: BigInt(row.refunds_micro),
      refundTotalMicro: BigInt(row.refund_total_micro),
      refundsFailedMicro: BigInt(row.refunds_failed_micro),
      disputedMicro: BigInt(row.disputed_micro),
      disputesWonMicro: BigInt(row.disputes_won_micro),
      takenBackMicro: BigInt(row.taken_back_micro),
      version: Number(row.version),
    })),
    ({ provider, reference }) => receiptKey(provider, reference),
  );
}
