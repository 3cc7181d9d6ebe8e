import type { Sql } from "../connect.ts";

/** Micro-units as the audit entries write them. A product keeps six places, where a quotient would compute twenty. */
const decimal = (sql: Sql, column: string) => sql.unsafe(`trim_scale(${column} * 0.000001)`);

/**
 * The same at a fifth of the cost. Exact below 1e15, where fifteen digits name one double and its shortest text is those
 * digits; PostgreSQL writes less than 0.0001 with an exponent, which then takes the slow way.
 */
const quickDecimal = (sql: Sql, column: string) => sql.unsafe(`(${column} / 1e6::float8)`);
const QUICK_BELOW = "1000000000000000";

/** An amount in an entry's text, in micro-units. No JSON parser: it would fail on the entry that somebody broke. */
const amountIn = (sql: Sql, field: string) =>
  sql.unsafe(
    `coalesce(substring(a.payload from '"${field}":"([0-9]{1,15}(?:[.][0-9]{1,6})?)"')::numeric * 1000000, 0)`,
  );

/** The rows `(name, place, stated, expected, difference)` of every check, as common table expressions. */
export function ledgerChecks(sql: Sql) {
  return sql`
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
    -- The trades are read and grouped once; positions, markets, hours and days are sums of these groups.
    traded_hour as (
      select trader_id, market_id, side, ts - ts % 3600000 as hour,
             sum(shares_micro) as shares,
             sum(coalesce(-released_micro, amount_micro)) as cost,
             sum(amount_micro) as volume,
             sum(fee_micro) as fee,
             sum(case when released_micro is not null then amount_micro - fee_micro - released_micro else 0 end) as realized,
             count(*) as trades
        from trade
       group by 1, 2, 3, 4
    ),
    traded as (
      select trader_id, market_id, side, sum(shares) as shares, sum(cost) as cost
        from traded_hour
       group by 1, 2, 3
    ),
    market_traded as (
      select market_id,
             sum(volume) as volume,
             coalesce(sum(shares) filter (where side = 'yes'), 0) as yes_shares,
             coalesce(sum(shares) filter (where side = 'no'), 0) as no_shares
        from traded_hour
       group by market_id
    ),
    hour_traded as (
      select market_id, hour, sum(volume) as volume, sum(fee) as fee from traded_hour group by 1, 2
    ),
    day_traded as (
      select hour - hour % 86400000 as day, trader_id, market_id,
             sum(volume) as volume, sum(trades) as trades, sum(realized) as realized
        from traded_hour
       group by 1, 2, 3
    ),
    -- The day as text: a broken time must be a difference, and not the end of the statement.
    funded as (
      select left(a.ts, 10) as day, substr(leg.account, 10) as provider,
             sum(leg.inflow) as inflow, sum(leg.outflow) as outflow
        from transfer t
        left join audit a on a.seq = t.seq
       cross join lateral (values (t.debit, t.amount_micro, 0), (t.credit, 0, t.amount_micro))
             as leg (account, inflow, outflow)
       where (t.debit like 'external:%' or t.credit like 'external:%')
         and leg.account like 'external:%' and leg.account <> 'external:capital'
       group by 1, 2
    ),
    accounts as (
      select coalesce(a.id, m.account) as place, a.balance_micro as stated, m.amount as expected,
             abs(coalesce(a.balance_micro, 0) - coalesce(m.amount, 0)) as difference
        from account a
        full join moved m on m.account = a.id
    ),
    escrows as (
      select m.id as place, a.balance_micro as stated,
             case when b.status = 'settled' then 0
                  else b.yes_micro + m.house_yes_micro + coalesce(t.yes_shares, 0) end as expected,
             case when b.status = 'settled' then abs(coalesce(a.balance_micro, 0))
                  else abs(coalesce(a.balance_micro, 0) - (b.yes_micro + m.house_yes_micro + coalesce(t.yes_shares, 0)))
                     + abs(coalesce(a.balance_micro, 0) - (b.no_micro + m.house_no_micro + coalesce(t.no_shares, 0)))
             end as difference
        from market m
        join book b on b.market_id = m.id
        left join account a on a.id = 'escrow:' || m.id
        left join market_traded t on t.market_id = m.id
    ),
    positions as (
      select trader_id || ' ' || market_id || ' ' || side as place,
             p.shares_micro + p.cost_micro as stated, t.shares + t.cost as expected,
             abs(coalesce(p.shares_micro, 0) - coalesce(t.shares, 0))
           + abs(coalesce(p.cost_micro, 0) - coalesce(t.cost, 0)) as difference
        from position p
        full join traded t using (trader_id, market_id, side)
    ),
    compared as (
      select coalesce(t.seq, a.seq) as seq, t.amount_micro, a.payload,
             case when t.seq is null then 1000000
                  when a.seq is null then t.amount_micro
                  -- The whole text, as a trade without a tag by a plain name writes it. Joined with ||, because concat
                  -- and to_json look their types up for every row.
                  when t.amount_micro < ${sql.unsafe(QUICK_BELOW)} and abs(t.shares_micro) < ${sql.unsafe(QUICK_BELOW)}
                   and coalesce(t.released_micro, 0) < ${sql.unsafe(QUICK_BELOW)}
                   and a.payload = case when t.released_micro is null then '{"amount":"' else '{"action":"sell","amount":"' end
                    || ${quickDecimal(sql, "t.amount_micro")}
                    || case when t.released_micro is null then '","fee":"'
                            else '","cost":"' || ${quickDecimal(sql, "t.released_micro")} || '","fee":"' end
                    || ${quickDecimal(sql, "t.fee_micro")}
                    || '","marketId":"' || t.market_id
                    || '","shares":"' || ${quickDecimal(sql, "abs(t.shares_micro)")}
                    || '","side":"' || t.side || '","tradeId":"' || t.id || '","userId":"' || t.trader_id
                    || '","yesPriceAfter":"' || ${quickDecimal(sql, "t.yes_price_ppm")} || '"}' then 0
                  -- The rest word for word, less what the trade itself does not hold: its tag and an operator's reason.
                  when regexp_replace(
                         regexp_replace(a.payload, ',"hedgeRef":[{].*[}](,"marketId":)', '\\1'),
                         ',"reason":"(?:[^"\\\\]|\\\\.)*"', '') = concat(
                    '{' || case when t.released_micro is not null then '"action":"sell",' else '' end,
                    '"amount":"', ${decimal(sql, "t.amount_micro")},
                    '","cost":"' || ${decimal(sql, "t.released_micro")}, '","fee":"', ${decimal(sql, "t.fee_micro")},
                    '","marketId":', to_json(t.market_id), ',"shares":"', ${decimal(sql, "abs(t.shares_micro)")},
                    '","side":"', t.side, '","tradeId":', to_json(t.id), ',"userId":', to_json(t.trader_id),
                    ',"yesPriceAfter":"', ${decimal(sql, "t.yes_price_ppm")}, '"}')
                   and (a.payload like '%,"hedgeRef":{%') = exists (select 1 from hedge h where h.seq = t.seq) then 0
                  else coalesce(nullif(abs(t.amount_micro - ${amountIn(sql, "amount")})
                     + abs(abs(t.shares_micro) - ${amountIn(sql, "shares")})
                     + abs(t.fee_micro - ${amountIn(sql, "fee")})
                     + abs(coalesce(t.released_micro, 0) - ${amountIn(sql, "cost")}), 0), t.amount_micro)
             end as difference
        from trade t
        full join (select seq, payload from audit where type = 'trade.executed') a on a.seq = t.seq
      -- Keeps the planner from pulling the comparison up, and then making it once for every column that uses it.
      offset 0
    ),
    trades as (
      select case when difference <> 0 then 'entry ' || seq end as place, amount_micro as stated,
             case when difference = 0 then amount_micro else ${amountIn(sql, "amount")} end as expected, difference
        from compared a
    ),
    hedges as (
      select 'entry ' || h.seq as place, 1000000 as stated, 1000000 - tag.difference as expected, tag.difference
        from hedge h
        left join audit a on a.seq = h.seq
       cross join lateral (
         select case when position(
                  concat(',"hedgeRef":{"direction":', to_json(h.direction), ',"externalRef":', to_json(h.external_ref),
                         ',"notional":', h.notional_minor, ',"symbol":', to_json(h.symbol),
                         '},"marketId":', to_json(h.market_id), ',') in a.payload) > 0 then 0 else 1000000 end
       ) as tag (difference)
    ),
    withdrawals as (
      select id as place, a.balance_micro as stated, w.amount as expected,
             abs(coalesce(a.balance_micro, 0) - coalesce(w.amount, 0)) as difference
        from (select id, balance_micro from account where id like 'pending:%') a
        full join (
          select 'pending:' || trader_id as id, sum(amount_micro) as amount
            from withdrawal
           where status = 'pending'
           group by trader_id
        ) w using (id)
    ),
    volumes as (
      select b.market_id as place, b.volume_micro as stated, t.volume as expected,
             abs(b.volume_micro - coalesce(t.volume, 0)) as difference
        from book b
        left join market_traded t on t.market_id = b.market_id
    ),
    hours as (
      select market_id || ' ' || hour as place, h.volume_micro + h.fee_micro as stated, t.volume + t.fee as expected,
             abs(coalesce(h.volume_micro, 0) - coalesce(t.volume, 0))
           + abs(coalesce(h.fee_micro, 0) - coalesce(t.fee, 0)) as difference
        from market_hour h
        full join hour_traded t using (market_id, hour)
    ),
    trader_days as (
      select trader_id || ' ' || market_id || ' ' || day as place,
             d.volume_micro + d.realized_micro as stated, t.volume + t.realized as expected,
             abs(coalesce(d.volume_micro, 0) - coalesce(t.volume, 0))
           + abs(coalesce(d.realized_micro, 0) - coalesce(t.realized, 0))
           + abs(coalesce(d.trades, 0) - coalesce(t.trades, 0)) * 1000000 as difference
        from trader_day d
        full join day_traded t using (day, trader_id, market_id)
    ),
    funding_days as (
      select coalesce(d.provider, t.provider) || ' ' || coalesce(d.day, t.day) as place,
             d.inflow_micro + d.outflow_micro as stated, t.inflow + t.outflow as expected,
             abs(coalesce(d.inflow_micro, 0) - coalesce(t.inflow, 0))
           + abs(coalesce(d.outflow_micro, 0) - coalesce(t.outflow, 0)) as difference
        from (
          select to_char(to_timestamp(day / 1000) at time zone 'UTC', 'YYYY-MM-DD') as day, provider,
                 inflow_micro, outflow_micro
            from funding_day
        ) d
        full join funded t on t.day = d.day and t.provider = d.provider
    ),
    ends as (
      select 'entry ' || h.seq as place, h.seq * 1000000 as stated, a.seq * 1000000 as expected,
             abs(h.seq - a.seq) * 1000000 as difference
        from head h, (select coalesce(max(seq), 0) as seq from audit) a
    ),
    checks as (
      select 'accounts' as name, place, stated, expected, difference from accounts
      union all select 'escrow', place, stated, expected, difference from escrows
      union all select 'positions', place, stated, expected, difference from positions
      union all select 'trades', place, stated, expected, difference from trades
      union all select 'hedges', place, stated, expected, difference from hedges
      union all select 'withdrawals', place, stated, expected, difference from withdrawals
      union all select 'volume', place, stated, expected, difference from volumes
      union all select 'hours', place, stated, expected, difference from hours
      union all select 'traderDays', place, stated, expected, difference from trader_days
      union all select 'fundingDays', place, stated, expected, difference from funding_days
      union all select 'head', place, stated, expected, difference from ends
    )`;
}
