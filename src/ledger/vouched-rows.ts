import type { Sql } from "../postgres/connect.ts";

/**
 * What speaks for the rows of each table of a backup.
 *
 * `chain`: the audit log, sealed with a key that is not in the database, says what they must be, and a restore compares
 * them with it (`reconcileLedger`, `findUnexplained`). A row that the log does not explain ends the restore.
 *
 * `mac`: the log does not tell of them, so only the file's `mac` says that they are the tenant's. Out of a file without
 * one they are left out, which is safe for each:
 * - `stored_answer`: a forged one would answer a retry with what never happened. Without it a retry is judged anew.
 * - `inbound_delivery`: a forged one would swallow a provider's event. Without it the same bytes are taken into account
 *   again, and receipts, payments and the time of the last KYC event keep them from counting twice.
 * - `oracle_tick`: a forged one would decide a market. Without it the source is asked again, or a person decides.
 * - `webhook_receiver`, `webhook_delivery`: forged ones would skip events or hold them back. Without them each receiver
 *   begins at the head, and `webhook replay` tells what it missed.
 * - `ended_session`: a forged one would end a session. Without it a token that its user gave up holds until it expires,
 *   a day at the most; what operators revoked is on record.
 * - `security_event`: a forged one would accuse somebody. Without it the log of the edge begins anew.
 * - `oracle_sweep`: the time of the last sweep, for display; a restore only sees that it is not in the future.
 */
export const ACCOUNTED_BY = {
  account: "chain",
  api_key: "chain",
  assessment: "chain",
  audit: "chain",
  book: "chain",
  ended_session: "mac",
  funding_day: "chain",
  head: "chain",
  hedge: "chain",
  inbound_delivery: "mac",
  key_use: "mac",
  market: "chain",
  market_hour: "chain",
  oracle_sweep: "chain",
  oracle_tick: "mac",
  oracle_watch: "chain",
  payment: "chain",
  position: "chain",
  receipt: "chain",
  security_event: "mac",
  stored_answer: "mac",
  tenant: "chain",
  trade: "chain",
  trader: "chain",
  trader_day: "chain",
  transfer: "chain",
  webhook_delivery: "mac",
  webhook_receiver: "mac",
  withdrawal: "chain",
} as const satisfies Record<string, "chain" | "mac">;

/** Tables that only a backup's `mac` speaks for. */
export const VOUCHED: readonly string[] = Object.entries(ACCOUNTED_BY)
  .filter(([, by]) => by === "mac")
  .map(([table]) => table);

/**
 * Leaves out what nothing speaks for when a backup carries no `mac`: the tables above; API keys whose value no entry names,
 * as older versions wrote none, so `apply` makes those of the tenant file anew; and of a market what the log does not
 * repeat, its `meta`, which decides nothing once the terms are frozen.
 */
export async function leaveOutVouched(sql: Sql): Promise<void> {
  await sql.unsafe(`truncate ${VOUCHED.join(", ")}`);
  await sql`
    delete from api_key
     where not exists (
       select 1 from audit
        where type in ('key.created', 'key.revoked') and position(api_key.hash in payload) > 0
     )`;
  await sql`update market set meta = '{}'`;
}
