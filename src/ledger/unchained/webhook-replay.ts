import { commitsToDisk } from "../../postgres/commit-setting.ts";
import type { ReadSql, Sql } from "../../postgres/connect.ts";
import { nowMs } from "../../postgres/database-time.ts";
import { integer, nullable, rowReader, text, whole } from "../codec.ts";

export type DeliveryStatus = "pending" | "delivered" | "dead";

/** A row of `webhook_delivery`. */
export const toDelivery = rowReader({
  receiver: text(),
  eventId: text(),
  seq: whole(),
  type: text(),
  status: text<DeliveryStatus>(),
  attempts: integer(),
  createdAt: whole(),
  nextAttemptAt: whole(),
  lastAttemptAt: nullable(whole()),
  lastStatus: nullable(integer()),
  /** Null until an attempt has ended. */
  lastExcerpt: nullable(text()),
});
export type DeliveryRow = ReturnType<typeof toDelivery>;

/** The columns of `toDelivery`. */
export function deliveryColumns(sql: ReadSql) {
  return sql`receiver, event_id, seq, type, status, attempts, created_at, next_attempt_at, last_attempt_at, last_status,
             last_excerpt`;
}

/**
 * Makes an event's deliveries due at once, with a complete new schedule of attempts.
 * @param receiver only to this receiver
 */
export async function replayDeliveries(
  sql: Sql,
  { eventId, receiver }: { eventId: string; receiver: string | undefined },
): Promise<DeliveryRow[]> {
  const rows = await sql`
    update webhook_delivery
       set status = 'pending', attempts = 0, next_attempt_at = ${nowMs(sql)}
     where event_id = ${eventId} and ${commitsToDisk(sql)}
       ${receiver === undefined ? sql`` : sql`and receiver = ${receiver}`}
    returning ${deliveryColumns(sql)}`;
  return rows.map(toDelivery);
}

/** Enables a receiver as if it had never failed; its deliveries continue where they stopped. */
export async function enableReceiver(sql: Sql, name: string): Promise<void> {
  await sql`
    update webhook_receiver set disabled_at = null, failures = 0, paused_until = 0
     where name = ${name} and ${commitsToDisk(sql)}`;
}
