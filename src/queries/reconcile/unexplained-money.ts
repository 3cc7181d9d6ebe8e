import { type AccountKind, CAPITAL, FEES, TREASURY, WITHDRAWN } from "../../domain/accounts.ts";
import { accountOf, literal } from "../../ledger/account-sql.ts";
import type { ReadSql } from "../../postgres/connect.ts";

/**
 * Transfers against the entries that caused them, summed by pair of accounts: the legs of one command stand under its
 * first entry, whichever entry tells of them.
 */
export function transferRows(sql: ReadSql) {
  const of = (kind: AccountKind, owner: string) => accountOf(sql, kind, owner);
  const treasury = literal(sql, TREASURY);
  return sql`
    net_trade as (
      select trader_id, market_id, side, released_micro is null as bought,
             sum(amount_micro - fee_micro) as net, sum(fee_micro) as fee, sum(shares_micro) as shares
        from trade
       group by 1, 2, 3, 4
    ),
    caused as (
      select leg.debit, leg.credit, leg.amount
        from net_trade
       cross join lateral (values
         (case when bought then ${of("wallet", "trader_id")} else ${of("escrow", "market_id")} end,
          case when bought then ${of("escrow", "market_id")} else ${of("wallet", "trader_id")} end, net),
         (case when bought then ${of("wallet", "trader_id")} else ${of("escrow", "market_id")} end, ${literal(sql, FEES)}, fee)
       ) as leg (debit, credit, amount)
      union all
      select ${of("escrow", "t.market_id")}, ${of("wallet", "t.trader_id")}, t.shares
        from entry e
        join net_trade t on t.market_id = e.body ->> 'marketId' and t.side = e.body ->> 'outcome'
       where e.type = 'market.settled'
      union all
      select leg.debit, leg.credit, leg.amount
        from (
          select type, body ->> 'userId' as user_id, body ->> 'provider' as provider, body ->> 'marketId' as market_id,
                 (body ->> 'amount')::numeric * 1000000 as amount,
                 coalesce((body ->> 'receivable')::numeric * 1000000, 0) as owed,
                 coalesce(body ->> 'liquidity', body ->> 'returned', body ->> 'capitalAdded')::numeric * 1000000 as fund
            from entry
        ) e
       cross join lateral (values
         ('wallet.credited', ${of("external", "provider")}, ${of("receivable", "user_id")}, owed),
         ('wallet.credited', ${of("external", "provider")}, ${of("wallet", "user_id")}, amount - owed),
         ('wallet.debited', ${of("receivable", "user_id")}, ${of("external", "provider")}, owed),
         ('wallet.debited', ${of("wallet", "user_id")}, ${of("external", "provider")}, amount - owed),
         ('withdrawal.requested', ${of("wallet", "user_id")}, ${of("pending", "user_id")}, amount),
         ('withdrawal.approved', ${of("pending", "user_id")}, ${literal(sql, WITHDRAWN)}, amount),
         ('withdrawal.rejected', ${of("pending", "user_id")}, ${of("wallet", "user_id")}, amount),
         ('market.created', ${treasury}, ${of("escrow", "market_id")}, fund),
         ('market.settled', ${of("escrow", "market_id")}, ${treasury}, fund),
         ('config.applied', ${literal(sql, CAPITAL)}, ${treasury}, fund)
       ) as leg (type, debit, credit, amount)
       where leg.type = e.type
    ),
    transfer_rows as (
      select coalesce(debit, '') || ' to ' || coalesce(credit, '') as place
        from (select debit, credit, sum(amount_micro) as amount from transfer group by 1, 2) stated
        full join (select debit, credit, sum(amount) as amount from caused group by 1, 2) told using (debit, credit)
       where coalesce(stated.amount, 0) <> coalesce(told.amount, 0)
    )`;
}

/**
 * What keeps a provider's event from counting twice. A deposit's receipt repeats its entry. Refunds and disputes are on
 * record under their payment's name and not their own, so their receipts are compared by sum with the payments.
 */
export function receiptRows(sql: ReadSql) {
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

/** What is known of a payment against what it moved: credited, taken back, and to whom. */
export function paymentRows(sql: ReadSql) {
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
                 greatest(greatest(p.refunds_micro, p.refund_total_micro) - p.refunds_failed_micro, 0)
                   + p.disputed_micro - p.disputes_won_micro as lost
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
