import { receivableOf, walletOf } from "../domain/accounts.ts";
import { isOfKind } from "../ledger/account-sql.ts";
import { integer, nullable, rowReader, text, whole } from "../ledger/codec.ts";
import {
  type DeliveryRow,
  type DeliveryStatus,
  deliveryColumns,
  toDelivery,
} from "../ledger/unchained/webhook-replay.ts";
import { textArray } from "../postgres/arrays.ts";
import type { ReadSql } from "../postgres/connect.ts";

export interface DeliveryQuery {
  receiver?: string | undefined;
  status?: DeliveryStatus | undefined;
  /** Only events of these audit entries. */
  seqs?: readonly string[] | undefined;
  /** Only deliveries after this one, in the list's order. */
  after?: { seq: number; eventId: string; receiver: string } | undefined;
  limit: number;
}

/** Newest event first. */
export async function listDeliveries(sql: ReadSql, query: DeliveryQuery): Promise<DeliveryRow[]> {
  const { receiver, status, seqs, after, limit } = query;
  const rows = await sql`
    select ${deliveryColumns(sql)}
      from webhook_delivery
     where true
       ${receiver === undefined ? sql`` : sql`and receiver = ${receiver}`}
       ${status === undefined ? sql`` : sql`and status = ${status}`}
       ${seqs === undefined ? sql`` : sql`and seq = any(${textArray(seqs)}::bigint[])`}
       ${after === undefined ? sql`` : sql`and (seq, receiver, event_id) < (${after.seq}, ${after.receiver}, ${after.eventId})`}
     order by seq desc, receiver desc, event_id desc
     limit ${limit}`;
  return rows.map(toDelivery);
}

/** Undefined for an unknown delivery. */
export async function findDelivery(
  sql: ReadSql,
  { eventId, receiver }: { eventId: string; receiver: string },
): Promise<DeliveryRow | undefined> {
  const [row] = await sql`
    select ${deliveryColumns(sql)} from webhook_delivery where receiver = ${receiver} and event_id = ${eventId}`;
  return row && toDelivery(row);
}

/** The most entries about a user whose deliveries one request looks for. */
export const ENTRIES_ABOUT_USER = 1000;

/**
 * The newest entries of a user's trades, payments and identity checks, each found by an index. Entries before the oldest
 * delivery have none.
 * @param upTo the newest entry to return
 */
export async function listEntriesAbout(sql: ReadSql, userId: string, upTo?: number): Promise<string[]> {
  const newest = sql`
    and seq >= (select min(seq) from webhook_delivery)
    ${upTo === undefined ? sql`` : sql`and seq <= ${upTo}`}
    order by seq desc
    limit ${ENTRIES_ABOUT_USER}`;
  const rows = await sql<{ seq: string }[]>`
    (select seq from trade where trader_id = ${userId} ${newest})
     union
    (select seq from transfer where credit = ${walletOf(userId)} and ${isOfKind(sql, "wallet", "credit")} ${newest})
     union
    (select seq from transfer where credit = ${receivableOf(userId)} and ${isOfKind(sql, "receivable", "credit")} ${newest})
     union
    (select seq from audit where audit_json(payload) ->> 'userId' = ${userId} and type = 'kyc.updated' ${newest})
     order by seq desc
     limit ${ENTRIES_ABOUT_USER}`;
  return rows.map(({ seq }) => seq);
}

/**
 * The events whose ids have this prefix, each once, with their types.
 * @param prefix `evt_` or the like; undefined for any
 * @param rest the entry's number, and the first characters of its hash
 */
export async function findEvents(
  sql: ReadSql,
  { seq, prefix, rest }: { seq: number; prefix: string | undefined; rest: string },
): Promise<{ id: string; label: string }[]> {
  return sql<{ id: string; label: string }[]>`
    select distinct event_id as id, type as label
      from webhook_delivery
     where seq = ${seq}
       ${prefix === undefined ? sql`` : sql`and starts_with(event_id, ${prefix})`}
       and starts_with(substr(event_id, 5), ${rest})
     order by 1`;
}

const toReceiver = rowReader({
  name: text(),
  position: whole(),
  disabledAt: nullable(whole()),
  pending: integer(),
  dead: integer(),
  failures: integer(),
});
export type ReceiverRow = ReturnType<typeof toReceiver>;

/** @param name selects one receiver */
export async function listReceivers(sql: ReadSql, name?: string): Promise<ReceiverRow[]> {
  const rows = await sql`
    select r.name, r.position, r.disabled_at, r.failures,
           count(*) filter (where d.status = 'pending')::int4 as pending,
           count(*) filter (where d.status = 'dead')::int4 as dead
      from webhook_receiver r
      left join webhook_delivery d on d.receiver = r.name and d.status <> 'delivered'
     ${name === undefined ? sql`` : sql`where r.name = ${name}`}
     group by r.name
     order by r.name`;
  return rows.map(toReceiver);
}
