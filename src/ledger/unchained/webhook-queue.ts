import { textArray } from "../../postgres/arrays.ts";
import { commitsToDisk } from "../../postgres/commit-setting.ts";
import type { ReadSql, Sql } from "../../postgres/connect.ts";

/** Up to which entry a receiver has its deliveries, and whether it is disabled. */
export interface ReceiverState {
  position: bigint;
  disabled: boolean;
}

/** A delivery that this process may attempt until its lease ends. */
export interface ClaimedDelivery {
  eventId: string;
  seq: bigint;
  /** The number of attempts including this one, which also distinguishes this claim from a later claim. */
  attempts: number;
}

/** A delivery to create. */
export interface NewDelivery {
  eventId: string;
  seq: bigint;
  type: string;
  /** The event's time, milliseconds since the epoch. */
  createdAt: number;
}

/**
 * Registers a receiver. A new receiver begins at the head of the log, without its history. A receiver whose
 * configuration changed is retried even if it was disabled.
 */
export async function registerReceiver(sql: Sql, name: string, fingerprint: string): Promise<void> {
  await sql`
    insert into webhook_receiver as r (name, position, fingerprint)
    select ${name}, seq, ${fingerprint} from head where id = 1 and ${commitsToDisk(sql)}
    on conflict (name) do update
       set fingerprint = excluded.fingerprint, disabled_at = null, failures = 0, paused_until = 0
     where r.fingerprint <> excluded.fingerprint`;
}

/** Undefined for a receiver that was never registered. */
export async function readReceiver(sql: ReadSql, name: string): Promise<ReceiverState | undefined> {
  const [row] = await sql`select position, disabled_at from webhook_receiver where name = ${name}`;
  return row && { position: BigInt(row.position), disabled: row.disabled_at !== null };
}

/** The number of deliveries without a first attempt, counted up to `limit`. */
export async function countUntried(sql: ReadSql, receiver: string, limit: number): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int4 as count
      from (select 1
              from webhook_delivery
             where receiver = ${receiver} and status = 'pending' and attempts = 0
             limit ${limit}) as untried`;
  return row?.count ?? 0;
}

/**
 * Turns a range of the log into deliveries: the receiver's position moves and the rows appear together, or neither
 * happens because another process was faster.
 */
export async function fanOut(
  sql: Sql,
  receiver: string,
  { from, to }: { from: bigint; to: bigint },
  deliveries: readonly NewDelivery[],
): Promise<void> {
  const column = (value: (delivery: NewDelivery) => string) => textArray(deliveries.map(value));
  await sql`
    with moved as (
      update webhook_receiver
         set position = ${String(to)}
       where name = ${receiver} and position = ${String(from)} and ${commitsToDisk(sql)}
      returning name
    )
    insert into webhook_delivery (receiver, event_id, seq, type, status, attempts, created_at, next_attempt_at)
    select moved.name, fresh.event_id, fresh.seq, fresh.type, 'pending', 0, fresh.created_at, fresh.created_at
      from moved,
           unnest(
             ${column(({ eventId }) => eventId)}::text[],
             ${column(({ seq }) => String(seq))}::bigint[],
             ${column(({ type }) => type)}::text[],
             ${column(({ createdAt }) => String(createdAt))}::bigint[]
           ) as fresh (event_id, seq, type, created_at)
    on conflict (receiver, event_id) do nothing`;
}

/**
 * Makes an event without an audit entry due for these receivers, once per event id. A receiver that is not registered
 * yet gets the event once it is.
 */
export async function announce(
  sql: Sql,
  receivers: readonly string[],
  { eventId, seq, type, createdAt }: NewDelivery,
): Promise<void> {
  await sql`
    insert into webhook_delivery (receiver, event_id, seq, type, status, attempts, created_at, next_attempt_at)
    select name, ${eventId}, ${String(seq)}, ${type}, 'pending', 0, ${createdAt}, ${createdAt}
      from unnest(${textArray(receivers)}::text[]) as asked (name)
     where ${commitsToDisk(sql)}
    on conflict (receiver, event_id) do nothing`;
}

/**
 * Claims due deliveries, oldest first, for one attempt each. Two processes never claim the same one: a row that is
 * being claimed is skipped, and a claimed row is due again only after its lease.
 */
export async function claimDeliveries(
  sql: Sql,
  receiver: string,
  { now, leaseMs, limit }: { now: number; leaseMs: number; limit: number },
): Promise<ClaimedDelivery[]> {
  const rows = await sql`
    with due as (
      select d.receiver, d.event_id
        from webhook_delivery d
        join webhook_receiver r on r.name = d.receiver
       where d.receiver = ${receiver}
         and d.status = 'pending'
         and d.next_attempt_at <= ${now}
         and r.disabled_at is null
         and (d.attempts > 0 or r.paused_until <= ${now})
       order by d.next_attempt_at, d.seq
       limit ${limit}
         for update of d skip locked
    )
    update webhook_delivery d
       set attempts = d.attempts + 1, next_attempt_at = ${now + leaseMs}, last_attempt_at = ${now}
      from due
     where d.receiver = due.receiver and d.event_id = due.event_id and ${commitsToDisk(sql)}
    returning d.event_id, d.seq, d.attempts`;
  return rows
    .map((row) => ({ eventId: String(row.event_id), seq: BigInt(row.seq), attempts: Number(row.attempts) }))
    .toSorted((a, b) => (a.seq < b.seq ? -1 : 1));
}

/** The stored result of an attempt. */
export interface AttemptRecord {
  status: "pending" | "delivered" | "dead";
  /** Null if no further attempt follows. */
  nextAttemptAt: number | null;
  lastStatus: number | null;
  lastExcerpt: string;
}

/** Records the result of a claimed attempt. Changes nothing if another process has claimed the delivery since. */
export async function recordAttempt(
  sql: Sql,
  receiver: string,
  { eventId, attempts }: ClaimedDelivery,
  { status, nextAttemptAt, lastStatus, lastExcerpt }: AttemptRecord,
): Promise<void> {
  await sql`
    update webhook_delivery
       set status = ${status},
           next_attempt_at = coalesce(${nextAttemptAt}, next_attempt_at),
           last_status = ${lastStatus},
           last_excerpt = ${lastExcerpt}
     where receiver = ${receiver} and event_id = ${eventId} and attempts = ${attempts} and status = 'pending'
       and ${commitsToDisk(sql)}`;
}

/** Marks a receiver as healthy, so that it is served at once. */
export async function recordSuccess(sql: Sql, receiver: string): Promise<void> {
  await sql`
    update webhook_receiver set failures = 0, paused_until = 0
     where name = ${receiver} and failures > 0 and ${commitsToDisk(sql)}`;
}

/** After `tolerated` failures in a row, new deliveries wait for `pauseMs` after each failure. */
export async function recordFailure(
  sql: Sql,
  receiver: string,
  { now, tolerated, pauseMs }: { now: number; tolerated: number; pauseMs: number },
): Promise<void> {
  await sql`
    update webhook_receiver
       set failures = failures + 1,
           paused_until = case when failures + 1 >= ${tolerated} then ${now + pauseMs}::bigint else 0 end
     where name = ${receiver} and ${commitsToDisk(sql)}`;
}

/** Stops deliveries to a receiver until an operator enables it or its configuration changes. */
export async function disableReceiver(sql: Sql, receiver: string, now: number): Promise<void> {
  await sql`
    update webhook_receiver set disabled_at = ${now}
     where name = ${receiver} and disabled_at is null and ${commitsToDisk(sql)}`;
}

/** For each of these receivers with undelivered events, since when the oldest waits. */
export async function oldestPending(sql: ReadSql, receivers: readonly string[]): Promise<Map<string, number>> {
  const rows = await sql`
    select receiver, min(created_at) as oldest
      from webhook_delivery
     where receiver = any(${textArray(receivers)}::text[]) and status = 'pending'
     group by receiver`;
  return new Map(rows.map((row) => [String(row.receiver), Number(row.oldest)]));
}

/**
 * Deletes deliveries past their retention, a limited number at a time. Pending deliveries are kept as long as the
 * tenant file names their receiver: a disabled receiver may be enabled much later.
 * @param receivers the receivers in the tenant file
 */
export async function forgetDeliveries(
  sql: Sql,
  {
    receivers,
    deliveredBefore,
    anyBefore,
    limit,
  }: { receivers: readonly string[]; deliveredBefore: number; anyBefore: number; limit: number },
): Promise<number> {
  const { count } = await sql`
    delete from webhook_delivery
     where (receiver, event_id) in (
             select receiver, event_id
               from webhook_delivery
              where created_at < ${deliveredBefore}
                -- An event may be much older than its delivery.
                and coalesce(last_attempt_at, created_at)
                      < case status when 'delivered' then ${deliveredBefore}::bigint else ${anyBefore}::bigint end
                and (status <> 'pending' or not receiver = any(${textArray(receivers)}::text[]))
              order by created_at
              limit ${limit})
       and ${commitsToDisk(sql)}`;
  return count;
}
