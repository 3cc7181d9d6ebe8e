import type { ReadSql } from "../../postgres/connect.ts";
import { type Since, where } from "./reconcile-sums.ts";

/** Micro-units as the audit entries write them. A product keeps six places, where a quotient would compute twenty. */
const decimal = (sql: ReadSql, column: string) => sql.unsafe(`trim_scale(${column} * 0.000001)`);

/**
 * The same at a fifth of the cost. Exact below 1e15, where fifteen digits name one double and its shortest text is those
 * digits; PostgreSQL writes less than 0.0001 with an exponent, which then takes the slow way.
 */
const quickDecimal = (sql: ReadSql, column: string) => sql.unsafe(`(${column} / 1e6::float8)`);
const QUICK_BELOW = "1000000000000000";

/** An amount in an entry's text, in micro-units. No JSON parser: it would fail on a tampered entry. */
const amountIn = (sql: ReadSql, field: string) =>
  sql.unsafe(
    `coalesce(substring(a.payload from '"${field}":"([0-9]{1,15}(?:[.][0-9]{1,6})?)"')::numeric * 1000000, 0)`,
  );

type Fragment = ReturnType<typeof where>;

/** How many ranges of entries are compared side by side: more than there are processes for it, so that none waits long. */
const PARTS = 4n;

/** Conditions on `seq`, of which every row of a journal fulfils one. */
function partsUpTo(sql: ReadSql, last: bigint): Fragment[] {
  const end = (part: bigint) => `${String((last * part) / PARTS)}`;
  return Array.from({ length: Number(PARTS) }, (_, index) => {
    const part = BigInt(index);
    if (part === 0n) return sql`seq <= ${end(1n)}::bigint`;
    if (part === PARTS - 1n) return sql`seq > ${end(part)}::bigint`;
    return sql`seq > ${end(part)}::bigint and seq <= ${end(part + 1n)}::bigint`;
  });
}

/**
 * `trades`: those that differ from their audit entries, which carry the same amounts under the chain's seal. Those after
 * `since`, or all of them, in ranges of the log: PostgreSQL gives each to another of its processes, while it cannot divide
 * one full join, nor one with a condition that is a subquery.
 */
export function trades(sql: ReadSql, among: { since: Since } | { last: bigint }) {
  const parts = "since" in among ? [sql`seq > ${String(among.since.seq)}::bigint`] : partsUpTo(sql, among.last);
  return sql`
    trades as materialized (
      ${parts.map((part) => differing(sql, part)).reduce((all, each): Fragment => sql`${all} union all ${each}`)}
    )`;
}

function differing(sql: ReadSql, part: Fragment) {
  return sql`
      select 'entry ' || seq as place, amount_micro as stated, ${amountIn(sql, "amount")} as expected, difference
        from (
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
                       and (a.payload like '%,"hedgeRef":{%') = t.is_tagged then 0
                      else coalesce(nullif(abs(t.amount_micro - ${amountIn(sql, "amount")})
                         + abs(abs(t.shares_micro) - ${amountIn(sql, "shares")})
                         + abs(t.fee_micro - ${amountIn(sql, "fee")})
                         + abs(coalesce(t.released_micro, 0) - ${amountIn(sql, "cost")}), 0), t.amount_micro)
                 end as difference
            from (
              select trade.*, hedge.seq is not null as is_tagged from trade left join hedge using (seq) where ${part}
            ) t
            full join (
              select seq, payload from audit where ${part} and type = 'trade.executed'
            ) a on a.seq = t.seq
          -- Keeps the planner from making the comparison again for each column that uses it; unlike an offset, it does not
          -- keep the work in one process.
          limit all
        ) a
       where difference <> 0`;
}

/** Hedge tags against the audit entries of their trades. */
export function hedges(sql: ReadSql, since?: Since) {
  return sql`
    hedges as (
      select 'entry ' || h.seq as place, 1000000 as stated, 1000000 - tag.difference as expected, tag.difference
        from (select * from hedge ${where(sql, since)}) h
        left join audit a on a.seq = h.seq
       cross join lateral (
         select case when position(
                  concat(',"hedgeRef":{"direction":', to_json(h.direction), ',"externalRef":', to_json(h.external_ref),
                         ',"notional":', h.notional_minor, ',"symbol":', to_json(h.symbol),
                         '},"marketId":', to_json(h.market_id), ',') in a.payload) > 0 then 0 else 1000000 end
       ) as tag (difference)
    )`;
}
