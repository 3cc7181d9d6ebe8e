import { CAPITAL } from "../../domain/accounts.ts";
import { openPool } from "../../domain/market/market.ts";
import { literal } from "../../ledger/account-sql.ts";
import type { ReadSql } from "../../postgres/connect.ts";
import { marketRows, priceRows, stateRows, tradeRows, watchRows } from "./unexplained-markets.ts";
import { paymentRows, receiptRows, transferRows } from "./unexplained-money.ts";

/** A row that the audit log does not explain, or one that it tells of and that is missing. */
export interface Unexplained {
  table: string;
  /** Which row, in words. */
  place: string;
}

const FIRST_PLACES = 5;
/** How far apart the clocks of a tenant's servers and of its database may be. */
export const CLOCK_SLACK_MS = 300_000;

/**
 * Compares with the log what the reconciliation of the ledger takes as given: that each transfer, market, withdrawal,
 * assessment and receipt follows from an entry, and nothing is missing. The log itself must have been verified before.
 *
 * @returns the first places, of all tables
 */
export async function findUnexplained(sql: ReadSql): Promise<Unexplained[]> {
  return sql<Unexplained[]>`
    with
    ${entries(sql)},
    ${transferRows(sql)},
    ${receiptRows(sql)},
    ${paymentRows(sql)},
    ${marketRows(sql)},
    ${stateRows(sql)},
    ${watchRows(sql)},
    ${tradeRows(sql)},
    ${priceRows(sql)},
    ${assessmentRows(sql)},
    ${withdrawalRows(sql)},
    ${logRows(sql)}
    select "table", place
      from (
        select 'transfer' as "table", place from transfer_rows
        union all select 'receipt', place from receipt_rows
        union all select 'payment', place from payment_rows
        union all select 'market', place from market_rows
        union all select 'book', place from state_rows
        union all select 'oracle_watch', place from watch_rows
        union all select 'trade', place from trade_rows
        union all select "table", place from price_rows
        union all select 'assessment', place from assessment_rows
        union all select 'withdrawal', place from withdrawal_rows
        union all select "table", place from log_rows
      ) unexplained
     order by 1, 2
     limit ${FIRST_PLACES}`;
}

/**
 * The entries with their payloads as JSON, but for the trades, which have a table that is compared word for word. A lone
 * surrogate is legal in JSON and in no text of PostgreSQL, so it stands in the rows as U+FFFD.
 */
function entries(sql: ReadSql) {
  return sql`
    entry as materialized (
      select seq, type, ts,
             case when position('\\ud' in payload) = 0 then payload
                  else regexp_replace(payload, '(?<!\\\\)\\\\ud[89a-f][0-9a-f]{2}', ${"\ufffd"}, 'g') end::json as body
        from audit
       where type <> 'trade.executed'
    )`;
}

/** Every assessment is on record with its answers. */
function assessmentRows(sql: ReadSql) {
  return sql`
    assessment_rows as (
      select coalesce(a.id, e.id) as place
        from assessment a
        full join (
          select body ->> 'assessmentId' as id, body ->> 'userId' as trader_id, (body -> 'answers')::text as answers,
                 (body ->> 'score')::integer as score
            from entry
           where type = 'suitability.submitted'
        ) e on e.id = a.id
       where (a.trader_id, a.answers, a.score) is distinct from (e.trader_id, e.answers, e.score)
    )`;
}

/** Every withdrawal was requested, and stands as it was decided. */
function withdrawalRows(sql: ReadSql) {
  return sql`
    withdrawal_rows as (
      select coalesce(w.id, e.id) as place
        from withdrawal w
        full join (
          select body ->> 'withdrawalId' as id,
                 max(body ->> 'userId') as trader_id,
                 max((body ->> 'amount')::numeric * 1000000) as amount,
                 case when bool_or(type = 'withdrawal.approved') then 'approved'
                      when bool_or(type = 'withdrawal.rejected') then 'rejected' else 'pending' end as status
            from entry
           where type like 'withdrawal.%'
           group by 1
        ) e on e.id = w.id
       where (w.trader_id, w.amount_micro, w.status) is distinct from (e.trader_id, e.amount, e.status)
    )`;
}

/** The log is whole and no row lies behind its end or in the future. */
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
      union all
      select 'tenant', 'its capital'
        from (select coalesce(sum(capital_micro), 0) as amount from tenant) stated,
             (select coalesce(sum(amount_micro), 0) as amount from transfer where debit = ${literal(sql, CAPITAL)}) moved
       where stated.amount <> moved.amount
    )`;
}

/** The latest instant of a log that is ahead of the database's clock, and what that clock shows; undefined for none. */
export async function readFuture(sql: ReadSql): Promise<{ latest: number; now: number } | undefined> {
  const [row] = await sql<{ latest: number; now: number }[]>`
    select greatest((select max(ts) from head), (select max(swept_at) from oracle_sweep))::float8 as latest,
           floor(extract(epoch from clock_timestamp()) * 1000)::float8 as now`;
  return row && row.latest > row.now + CLOCK_SLACK_MS ? row : undefined;
}

const PAGE = 1000;

/**
 * Markets whose house shares are not those that their terms give. What the pool holds follows from them, the trades and
 * the escrow, so a pool that was moved shows here.
 */
export async function findWrongPools(sql: ReadSql): Promise<Unexplained[]> {
  const wrong: Unexplained[] = [];
  const pages = sql`select id, kind, p0_ppm, fund_micro, house_yes_micro, house_no_micro from market order by id`;
  await pages.cursor(PAGE, (markets) => {
    for (const { id, kind, p0_ppm, fund_micro, house_yes_micro, house_no_micro } of markets) {
      const fundMicro = BigInt(fund_micro);
      const { yesMicro, noMicro } = openPool({ kind, fundMicro, p0Ppm: p0_ppm });
      const same = BigInt(house_yes_micro) === fundMicro - yesMicro && BigInt(house_no_micro) === fundMicro - noMicro;
      if (!same) wrong.push({ table: "market", place: id });
    }
  });
  return wrong;
}
