import type { Sql } from "../connect.ts";

/** One check of the ledger: what it compares, and by how much it is off in micro-units. Zero when it holds. */
export interface Check {
  name: string;
  differenceMicro: bigint;
  /** How many rows disagree. */
  rows: number;
}

/**
 * Every check in one statement, so that all of them see one state of the ledger. Each sums absolute differences, so two
 * errors cannot cancel out.
 *
 * - accounts: balance against the transfers that touched it
 * - escrow: per market, escrow = YES outstanding = NO outstanding; 0 once settled
 * - positions: shares and cost against the trades; a sell takes away its shares and the cost that it released
 * - trades: against their audit entries, which carry the same amounts under the chain's seal
 * - hedges: tags against the audit entries of their trades
 * - withdrawals: per user, what is pending against the account that holds it
 * - volume: per market, the book and the hourly rollup against the trades
 * - head: the journal's end against the head row
 */
export async function reconcileLedger(sql: Sql): Promise<Check[]> {
  const rows = await sql<{ name: string; difference: string; rows: string }[]>`
    with
    -- Summed by pair of accounts first: far fewer rows then have to be split into their two legs.
    pair as (
      select debit, credit, sum(amount_micro) as amount from transfer group by debit, credit
    ),
    moved as (
      select account, sum(leg.amount) as amount
        from pair
       cross join lateral (values (debit, -amount), (credit, amount)) as leg (account, amount)
       group by account
    ),
    traded as (
      select trader_id, market_id, side, sum(shares_micro) as shares,
             sum(coalesce(-released_micro, amount_micro)) as cost, sum(amount_micro) as volume
        from trade
       group by trader_id, market_id, side
    ),
    market_traded as (
      select market_id,
             sum(volume) as volume,
             coalesce(sum(shares) filter (where side = 'yes'), 0) as yes_shares,
             coalesce(sum(shares) filter (where side = 'no'), 0) as no_shares
        from traded
       group by market_id
    ),
    hourly as (
      select market_id, sum(volume_micro) as volume from market_hour group by market_id
    ),
    accounts as (
      select abs(coalesce(a.balance_micro, 0) - coalesce(m.amount, 0)) as difference
        from account a
        full join moved m on m.account = a.id
    ),
    escrows as (
      select case when b.status = 'settled' then abs(coalesce(a.balance_micro, 0))
                  else abs(coalesce(a.balance_micro, 0) - (b.yes_micro + m.house_yes_micro + coalesce(t.yes_shares, 0)))
                     + abs(coalesce(a.balance_micro, 0) - (b.no_micro + m.house_no_micro + coalesce(t.no_shares, 0)))
             end as difference
        from market m
        join book b on b.market_id = m.id
        left join account a on a.id = 'escrow:' || m.id
        left join market_traded t on t.market_id = m.id
    ),
    positions as (
      select abs(coalesce(p.shares_micro, 0) - coalesce(t.shares, 0))
           + abs(coalesce(p.cost_micro, 0) - coalesce(t.cost, 0)) as difference
        from position p
        full join traded t using (trader_id, market_id, side)
    ),
    trades as (
      select case when t.seq is null then 1000000
                  when a.seq is null then t.amount_micro
                  -- The whole text is compared, and parsed only where it differs or says more than the trade.
                  when a.payload = concat(
                    -- concat leaves nulls out: a purchase has neither action nor cost.
                    '{' || case when t.released_micro is not null then '"action":"sell",' else '' end,
                    '"amount":"', trim_scale(t.amount_micro / 1000000.0),
                    '","cost":"' || trim_scale(t.released_micro / 1000000.0), '","fee":"', trim_scale(t.fee_micro / 1000000.0),
                    '","marketId":', to_json(t.market_id), ',"shares":"', trim_scale(abs(t.shares_micro) / 1000000.0),
                    '","side":"', t.side, '","tradeId":', to_json(t.id), ',"userId":', to_json(t.trader_id),
                    ',"yesPriceAfter":"', trim_scale(t.yes_price_ppm / 1000000.0), '"}') then 0
                  else abs(t.amount_micro - ((a.payload::json ->> 'amount')::numeric * 1000000))
                     + abs(abs(t.shares_micro) - ((a.payload::json ->> 'shares')::numeric * 1000000))
                     + abs(t.fee_micro - ((a.payload::json ->> 'fee')::numeric * 1000000))
                     + abs(coalesce(t.released_micro, 0) - coalesce((a.payload::json ->> 'cost')::numeric * 1000000, 0))
                     + case when (a.payload::json ->> 'action') is not distinct from
                                 case when t.released_micro is not null then 'sell' end
                             and (a.payload::json -> 'hedgeRef' is not null) = exists (select 1 from hedge h where h.seq = t.seq)
                             and a.payload::json ->> 'tradeId' = t.id and a.payload::json ->> 'userId' = t.trader_id
                             and a.payload::json ->> 'marketId' = t.market_id and a.payload::json ->> 'side' = t.side
                            then 0 else t.amount_micro end
             end as difference
        from trade t
        full join (select seq, payload from audit where type = 'trade.executed') a on a.seq = t.seq
    ),
    hedges as (
      select case when a.payload::json #>> '{hedgeRef,symbol}' = h.symbol
                   and a.payload::json #>> '{hedgeRef,direction}' = h.direction
                   and a.payload::json #>> '{hedgeRef,notional}' = h.notional_minor::text
                   and a.payload::json #>> '{hedgeRef,externalRef}' = h.external_ref
                   and a.payload::json ->> 'marketId' = h.market_id then 0 else 1000000 end as difference
        from hedge h
        left join audit a on a.seq = h.seq
    ),
    withdrawals as (
      select abs(coalesce(a.balance_micro, 0) - coalesce(w.amount, 0)) as difference
        from (select id, balance_micro from account where id like 'pending:%') a
        full join (
          select 'pending:' || trader_id as id, sum(amount_micro) as amount
            from withdrawal
           where status = 'pending'
           group by trader_id
        ) w using (id)
    ),
    volumes as (
      select abs(b.volume_micro - coalesce(t.volume, 0)) + abs(b.volume_micro - coalesce(h.volume, 0)) as difference
        from book b
        left join market_traded t on t.market_id = b.market_id
        left join hourly h on h.market_id = b.market_id
    ),
    ends as (
      select abs(h.seq - a.seq) * 1000000 as difference
        from head h, (select coalesce(max(seq), 0) as seq from audit) a
    ),
    checks as (
      select 'accounts' as name, difference from accounts
      union all select 'escrow', difference from escrows
      union all select 'positions', difference from positions
      union all select 'trades', difference from trades
      union all select 'hedges', difference from hedges
      union all select 'withdrawals', difference from withdrawals
      union all select 'volume', difference from volumes
      union all select 'head', difference from ends
    )
    select name, trunc(sum(difference))::text as difference, count(*) filter (where difference <> 0)::text as rows
      from checks
     group by name
     order by name`;
  return rows.map((row) => ({ name: row.name, differenceMicro: BigInt(row.difference), rows: Number(row.rows) }));
}
