import { TREASURY } from "../domain/accounts.ts";
import type { StoredStatus } from "../domain/market/market.ts";
import type { Outcome } from "../domain/market/outcome.ts";
import type { StatusFilter } from "../domain/market/status-filter.ts";
import { DAY_MS } from "../domain/time/units.ts";
import { accountOf, isOfKind, literal } from "../ledger/account-sql.ts";
import { bigint, integer, json, named, nullable, rowReader, text, whole } from "../ledger/codec.ts";
import { textArray } from "../postgres/arrays.ts";
import type { ReadSql } from "../postgres/connect.ts";
import { nowMs } from "../postgres/database-time.ts";
import { hasStatus } from "./markets/market-status.ts";
import { marketHours } from "./rollups.ts";

/**
 * The beginning of a report's period: the current UTC day, by the database's clock, and the days before it.
 * @returns milliseconds since 1970
 */
export async function readPeriodStart(sql: ReadSql, periodDays: number): Promise<number> {
  const [row] = await sql<{ now: string }[]>`select ${nowMs(sql)} as now`;
  const now = Number(row?.now);
  return now - (now % DAY_MS) - (periodDays - 1) * DAY_MS;
}

/** What the treasury got of a market that one side won: the house's and the pool's winning shares. */
function wonByHouse(sql: ReadSql) {
  return sql`case b.outcome when 'yes' then b.yes_micro + m.house_yes_micro else b.no_micro + m.house_no_micro end`;
}

/**
 * The markets settled since an instant, as a table: `market_id`, `category`, `settled_at`, `fees` (less than 0 where a void
 * gave some back) and `spread`, the market maker's result.
 */
export function marketEnds(sql: ReadSql, startMs: number) {
  return sql`(
    select b.market_id, m.category, b.settled_at, -coalesce(e.fees_micro, 0) as fees,
           coalesce(e.treasury_micro, ${wonByHouse(sql)}) - m.fund_micro as spread
      from book b
      join market m on m.id = b.market_id
      left join market_end e on e.market_id = b.market_id
     where b.settled_at >= ${startMs}
  )`;
}

const toCategory = rowReader({
  category: text(),
  volumeMicro: named("volume", bigint()),
  feeMicro: named("fees", bigint()),
  /** The market maker's realised result of the markets settled within the period. */
  spreadMicro: named("spread", bigint()),
  settledMarkets: named("settled", integer()),
});
export type CategoryRow = ReturnType<typeof toCategory>;

/** Volume, fees less what voids gave back, and market-making result by category, from the hours and ends of the period. */
export async function listCategoryResults(sql: ReadSql, startMs: number): Promise<CategoryRow[]> {
  const rows = await sql`
    with results as (
      -- Straight into the few categories: sums of each market first would be many.
      select m.category, sum(h.volume_micro) as volume, sum(h.fee_micro) as fees, 0 as spread, 0 as settled
        from ${marketHours(sql)} h
        join market m on m.id = h.market_id
       where h.hour >= ${startMs}
       group by m.category
       union all
      select category, 0, fees, spread, 1 from ${marketEnds(sql, startMs)} ended
    )
    select category, sum(volume)::text as volume, sum(fees)::text as fees, sum(spread)::text as spread,
           sum(settled)::int4 as settled
      from results
     group by category
     order by category collate "C"`;
  return rows.map(toCategory);
}

const toRefunds = rowReader({
  markets: integer(),
  positions: integer(),
  paidMicro: named("paid", bigint()),
  feesMicro: named("fees", bigint()),
  /** What the treasury added. */
  treasuryMicro: named("treasury", bigint()),
});

/** The voided markets of the period, with what their positions got back. */
export async function sumRefunds(sql: ReadSql, startMs: number): Promise<ReturnType<typeof toRefunds>> {
  const [row] = await sql`
    select count(*)::int4 as markets, coalesce(sum(e.payouts), 0)::int4 as positions,
           coalesce(sum(e.paid_micro), 0)::text as paid, coalesce(sum(e.fees_micro), 0)::text as fees,
           coalesce(sum(greatest(-e.treasury_micro, 0)), 0)::text as treasury
      from book b
      join market_end e on e.market_id = b.market_id
     where b.settled_at >= ${startMs} and b.outcome = 'void'`;
  return toRefunds(row ?? {});
}

/** Users who traded since the beginning of a UTC day. */
export async function countActiveTraders(sql: ReadSql, startMs: number): Promise<number> {
  const [row] = await sql<{ traders: number }[]>`
    select count(*)::int4 as traders
      -- Grouped first: a distinct inside the count would sort every row of the period.
      from (select trader_id from position where day >= ${startMs} group by trader_id) active`;
  return row?.traders ?? 0;
}

const toFunding = rowReader({
  provider: text(),
  inflowMicro: named("inflow", bigint()),
  outflowMicro: named("outflow", bigint()),
});
export type FundingRow = ReturnType<typeof toFunding>;

/** Money in and out by provider since the beginning of a UTC day. */
export async function listFunding(sql: ReadSql, startMs: number): Promise<FundingRow[]> {
  const rows = await sql`
    select provider, sum(inflow_micro)::text as inflow, sum(outflow_micro)::text as outflow
      from funding_day
     where day >= ${startMs}
     group by provider
     order by provider collate "C"`;
  return rows.map(toFunding);
}

/** Money that has left wallets and was neither paid out nor given back, and what all users owe. */
export async function sumPendingAndOwed(sql: ReadSql): Promise<{ pendingMicro: bigint; owedMicro: bigint }> {
  const [row] = await sql<{ pending: string; owed: string }[]>`
    select (select coalesce(sum(balance_micro), 0)::text from account where ${isOfKind(sql, "pending", "id")}) as pending,
           (select coalesce(-sum(balance_micro), 0)::text from account where ${isOfKind(sql, "receivable", "id")}) as owed`;
  return { pendingMicro: BigInt(row?.pending ?? 0), owedMicro: BigInt(row?.owed ?? 0) };
}

const toRisk = rowReader({
  marketId: named("id", text()),
  question: text(),
  yesPayoutMicro: named("yes_payout", bigint()),
  noPayoutMicro: named("no_payout", bigint()),
  /** What traders paid into the market, without fees, less what it paid out to them. */
  stakesMicro: named("stakes", bigint()),
  status: text<StoredStatus>(),
  outcome: nullable(text<Outcome>()),
  category: text(),
  /** As stored; null for a market without a feed. */
  terms: nullable(text()),
  closeAt: whole(),
  /** The database's clock. */
  now: whole(),
});
export type RiskRow = ReturnType<typeof toRisk>;

/**
 * What traders hold of each side; zero once the market is settled. Escrow = YES outstanding = NO outstanding,
 * so traders hold what the pool and the house do not; no position is read.
 */
function held(sql: ReadSql, amount: ReturnType<ReadSql>) {
  return sql`case when b.status = 'settled' then 0 else ${amount} end`;
}

function payouts(sql: ReadSql) {
  return sql`${held(sql, sql`a.balance_micro - b.yes_micro - m.house_yes_micro`)} as yes_payout,
             ${held(sql, sql`a.balance_micro - b.no_micro - m.house_no_micro`)} as no_payout,
             ${held(sql, sql`a.balance_micro - m.fund_micro`)} as stakes`;
}

function withEscrows(sql: ReadSql) {
  return sql`book b
      join market m on m.id = b.market_id
      -- Looked up market by market: accounts are as many as users.
     cross join lateral (select balance_micro from account where id = ${accountOf(sql, "escrow", "m.id")} limit 1) a`;
}

/** @param ids only these; all markets of the filter unless given */
export async function listRisks(sql: ReadSql, filter: StatusFilter, ids?: readonly string[]): Promise<RiskRow[]> {
  const rows = await sql`
    select m.id, m.question, m.category, m.terms, m.close_at, b.status, b.outcome, ${nowMs(sql)} as now, ${payouts(sql)}
      from ${withEscrows(sql)}
     where ${hasStatus(sql, filter)}
       ${ids === undefined ? sql`` : sql`and m.id = any(${textArray(ids)}::text[])`}
     order by m.close_at, m.id`;
  return rows.map(toRisk);
}

const toSummary = rowReader({
  markets: integer(),
  pricedMarkets: named("priced", integer()),
  worstMicro: named("worst", bigint()),
  treasuryMicro: named("treasury", bigint()),
  categories: json<{ category: string; markets: number; worst: string }[]>(),
  /** Of the markets that can cost most, in this order. */
  ids: json<string[]>(),
});

/** What the markets of a filter can cost together. The most of one is its worse payout less the stakes, and never below 0. */
export async function sumRisks(
  sql: ReadSql,
  filter: StatusFilter,
  most: { markets: number; categories: number },
): Promise<ReturnType<typeof toSummary>> {
  const [row] = await sql`
    with risk as materialized (
      select id, category, priced, greatest(yes_payout - stakes, no_payout - stakes, 0) as worst
        from (select m.id, m.category, m.terms is not null as priced, ${payouts(sql)}
                from ${withEscrows(sql)}
               where ${hasStatus(sql, filter)}) each
    ),
    chosen as (
      (select id, worst from risk order by worst desc, id limit ${most.markets})
       union
      (select id, worst from risk where priced order by worst desc, id limit ${most.markets})
    )
    select count(*)::int4 as markets, (count(*) filter (where priced))::int4 as priced, coalesce(sum(worst), 0)::text as worst,
           coalesce((select balance_micro from account where id = ${literal(sql, TREASURY)}), 0) as treasury,
           (select coalesce(json_agg(c), '[]')
              from (select category, count(*) as markets, sum(worst)::text as worst
                      from risk
                     group by category
                     order by sum(worst) desc, category collate "C"
                     limit ${most.categories}) c)::text as categories,
           (select coalesce(json_agg(id order by worst desc, id), '[]') from chosen)::text as ids
      from risk`;
  return toSummary(row ?? {});
}
