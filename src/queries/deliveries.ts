import type { ReadSql, Sql } from "../postgres/connect.ts";
import { nowMs } from "../postgres/database-time.ts";

export type DeliveryStatus = "pending" | "delivered" | "dead";

export interface DeliveryRow {
  receiver: string;
  eventId: string;
  seq: number;
  type: string;
  status: DeliveryStatus;
  attempts: number;
  createdAt: number;
  nextAttemptAt: number;
  lastAttemptAt: number | null;
  lastStatus: number | null;
  /** Null until an attempt has ended. */
  lastExcerpt: string | null;
}

export interface DeliveryQuery {
  receiver?: string | undefined;
  status?: DeliveryStatus | undefined;
  /** Only deliveries after this one in the list's order. */
  after?: { seq: number; eventId: string; receiver: string } | undefined;
  limit: number;
}

function columns(sql: ReadSql) {
  return sql`receiver, event_id, seq, type, status, attempts, created_at, next_attempt_at, last_attempt_at, last_status,
             last_excerpt`;
}

/** Newest event first. */
export async function listDeliveries(sql: ReadSql, query: DeliveryQuery): Promise<DeliveryRow[]> {
  const { receiver, status, after, limit } = query;
  const rows = await sql<StoredDelivery[]>`
    select ${columns(sql)}
      from webhook_delivery
     where true
       ${receiver === undefined ? sql`` : sql`and receiver = ${receiver}`}
       ${status === undefined ? sql`` : sql`and status = ${status}`}
       ${after === undefined ? sql`` : sql`and (seq, receiver, event_id) < (${after.seq}, ${after.receiver}, ${after.eventId})`}
     order by seq desc, receiver desc, event_id desc
     limit ${limit}`;
  return rows.map(toDelivery);
}

/**
 * Makes an event's deliveries due at once, with the whole schedule of attempts before them again.
 * @param receiver only to this one
 */
export async function replayDeliveries(
  sql: Sql,
  { eventId, receiver }: { eventId: string; receiver: string | undefined },
): Promise<DeliveryRow[]> {
  const rows = await sql<StoredDelivery[]>`
    update webhook_delivery
       set status = 'pending', attempts = 0, next_attempt_at = ${nowMs(sql)}
     where event_id = ${eventId}
       ${receiver === undefined ? sql`` : sql`and receiver = ${receiver}`}
    returning ${columns(sql)}`;
  return rows.map(toDelivery);
}

export interface ReceiverRow {
  name: string;
  position: number;
  disabledAt: number | null;
  pending: number;
  dead: number;
}

/** @param name only this one */
export async function listReceivers(sql: ReadSql, name?: string): Promise<ReceiverRow[]> {
  const rows = await sql`
    select r.name, r.position, r.disabled_at,
           count(*) filter (where d.status = 'pending')::int4 as pending,
           count(*) filter (where d.status = 'dead')::int4 as dead
      from webhook_receiver r
      left join webhook_delivery d on d.receiver = r.name and d.status <> 'delivered'
     ${name === undefined ? sql`` : sql`where r.name = ${name}`}
     group by r.name
     order by r.name`;
  return rows.map((row) => ({
    name: row.name,
    position: Number(row.position),
    disabledAt: row.disabled_at === null ? null : Number(row.disabled_at),
    pending: row.pending,
    dead: row.dead,
  }));
}

/** Serves a receiver again as if it had never failed; its deliveries go on where they ended. */
export async function enableReceiver(sql: Sql, name: string): Promise<void> {
  await sql`update webhook_receiver set disabled_at = null, failures = 0, paused_until = 0 where name = ${name}`;
}

/** Columns of bigint arrive as text. */
interface StoredDelivery {
  receiver: string;
  event_id: string;
  seq: string;
  type: string;
  status: DeliveryRow["status"];
  attempts: number;
  created_at: string;
  next_attempt_at: string;
  last_attempt_at: string | null;
  last_status: number | null;
  last_excerpt: DeliveryRow["lastExcerpt"];
}

function toDelivery(row: StoredDelivery): DeliveryRow {
  return {
    receiver: row.receiver,
    eventId: row.event_id,
    seq: Number(row.seq),
    type: row.type,
    status: row.status,
    attempts: row.attempts,
    createdAt: Number(row.created_at),
    nextAttemptAt: Number(row.next_attempt_at),
    lastAttemptAt: row.last_attempt_at === null ? null : Number(row.last_attempt_at),
    lastStatus: row.last_status,
    lastExcerpt: row.last_excerpt,
  };
}
