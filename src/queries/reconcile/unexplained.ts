import type { ReadSql } from "../../postgres/connect.ts";

/** A row that the audit log does not explain, or a missing row that the log states. */
export interface Unexplained {
  table: string;
  /** The row, in words. */
  place: string;
}

const FIRST_PLACES = 5;
/** How far the clocks of a tenant's servers and of its database may differ. */
const CLOCK_SLACK_MS = 300_000;

/**
 * Compares the rows that the recomputation leaves out: receipts and payments, whose movements the log states, and rows
 * that an entry numbers or dates. The log must have been verified before.
 *
 * @returns the first places, of all tables
 */
export async function findUnexplained(sql: ReadSql): Promise<Unexplained[]> {
  return sql<Unexplained[]>`
    with
    entry as materialized (
      select type, payload::json as body
        from audit
       where type in ('wallet.credited', 'wallet.debited', 'payment.conflict')
    ),
    ${receiptRows(sql)},
    ${paymentRows(sql)},
    ${logRows(sql)}
    select "table", place
      from (
        select 'receipt' as "table", place from receipt_rows
        union all select 'payment', place from payment_rows
        union all select "table", place from log_rows
      ) unexplained
     order by 1, 2
     limit ${FIRST_PLACES}`;
}

/**
 * Compares the rows that keep a provider's event from counting twice. A deposit's receipt repeats its entry. Refunds
 * and disputes are on record under their payment's name, so their receipts are compared by sum with the payments.
 */
function receiptRows(sql: ReadSql) {
  return sql`
    deposit as (
      select body ->> 'provider' as provider, body ->> 'txRef' as reference, body ->> 'userId' as user_id,
             (body ->> 'amount')::numeric * 1000000 as amount
        from entry
       where type = 'wallet.credited' and body ->> 'txRef' is not null and body ->> 'cause' is null
    ),
    other_receipt as (
      select r.provider, r.reference, r.amount_micro,
             coalesce(substring(r.reference from ' (failed|won)$'), 'counted') as kind
        from receipt r
        left join deposit d on (d.provider, d.reference, d.user_id, d.amount)
                             = (r.provider, r.reference, r.user_id, r.amount_micro)
       where d.provider is null
    ),
    receipt_rows as (
      select provider || ' ' || reference as place
        from deposit
       where not exists (select 1 from receipt r where r.provider = deposit.provider and r.reference = deposit.reference)
         and not exists (select 1 from payment p where p.provider = deposit.provider and p.reference = deposit.reference)
      union all
      select provider || ' ' || coalesce(counted.reference, 'refunds and disputes')
        from (
          select provider, kind, min(reference) as reference, sum(amount_micro) as amount
            from other_receipt
           group by 1, 2
        ) counted
        full join (
          select p.provider, part.kind, sum(part.amount) as amount
            from payment p
           cross join lateral (values
             ('counted', refunds_micro + disputed_micro), ('failed', refunds_failed_micro), ('won', disputes_won_micro)
           ) as part (kind, amount)
           group by 1, 2
        ) known using (provider, kind)
       where coalesce(counted.amount, 0) <> coalesce(known.amount, 0)
          or (counted.amount is not null and known.amount is null)
    )`;
}

/** Compares what is stored about a payment with its movements: credited, taken back, and to whom. */
function paymentRows(sql: ReadSql) {
  return sql`
    told_payment as (
      select body ->> 'provider' as provider, body ->> 'txRef' as reference,
             max(body ->> 'userId') filter (where type = 'wallet.credited') as user_id,
             coalesce(sum((body ->> 'amount')::numeric * 1000000)
               filter (where type = 'wallet.credited' and body ->> 'cause' is null), 0) as credited,
             coalesce(sum((body ->> 'amount')::numeric * case type when 'wallet.debited' then 1000000 else -1000000 end)
               filter (where type = 'wallet.debited' or (type = 'wallet.credited' and body ->> 'cause' is not null)), 0)
               as taken_back
        from entry
       where type in ('wallet.credited', 'wallet.debited', 'payment.conflict') and body ->> 'txRef' is not null
       group by 1, 2
    ),
    payment_rows as (
      select provider || ' ' || reference as place
        from (
          select p.*, t.provider is not null as is_told, t.user_id as told_user, t.credited, t.taken_back,
                 least(p.credited_micro, coalesce(p.received_micro, p.credited_micro)) as kept,
                 greatest(greatest(greatest(p.refunds_micro, p.refund_total_micro) - p.refunds_failed_micro, 0)
                   + p.disputed_micro - p.disputes_won_micro, 0) as lost
            from payment p
            left join told_payment t using (provider, reference)
        ) each
       where not is_told
          or credited_micro <> credited
          or taken_back_micro <> taken_back
          or taken_back_micro <> credited_micro - kept + least(kept, lost)
          or user_id <> coalesce(told_user, '')
    )`;
}

/** The log is complete, and no row is after its end or in the future. */
function logRows(sql: ReadSql) {
  const soon = sql`extract(epoch from clock_timestamp()) * 1000 + ${CLOCK_SLACK_MS}`;
  return sql`
    log_rows as (
      select 'audit' as "table", 'an entry that is missing or one too many' as place
        from head, (select count(*) as count, min(seq) as first, max(seq) as last from audit) a
       where a.count <> head.seq or (a.count > 0 and (a.first <> 1 or a.last <> head.seq))
      union all
      select 'head', 'its time' from head where ts > ${soon}
      union all
      select 'oracle_sweep', 'its time' from oracle_sweep where swept_at > ${soon}
      union all
      select 'transfer', 'entry ' || seq from transfer, (select seq as last from head) h where seq not between 1 and last
      union all
      select 'webhook_receiver', name from webhook_receiver, head where position > head.seq
      union all
      select 'webhook_delivery', event_id from webhook_delivery d, head where d.seq > head.seq
    )`;
}

/** The latest instant of a log that is ahead of the database's clock, and that clock's time; undefined otherwise. */
export async function readFuture(sql: ReadSql): Promise<{ latest: number; now: number } | undefined> {
  const [row] = await sql<{ latest: number; now: number }[]>`
    select greatest((select max(ts) from head), (select max(swept_at) from oracle_sweep))::float8 as latest,
           floor(extract(epoch from clock_timestamp()) * 1000)::float8 as now`;
  return row && row.latest > row.now + CLOCK_SLACK_MS ? row : undefined;
}
