import { receivableOf, walletOf } from "../../domain/accounts.ts";
import { placeOf } from "../../domain/policy/jurisdictions.ts";
import { isOfKind, ownerOf } from "../../ledger/account-sql.ts";
import { textArray } from "../../postgres/arrays.ts";
import type { ReadSql } from "../../postgres/connect.ts";

export interface TraderFilter {
  /** Part of the id, in upper or lower case. */
  q?: string | undefined;
  state?: string | undefined;
  minScore?: number | undefined;
  maxScore?: number | undefined;
  jurisdiction?: string | undefined;
  minExposureMicro?: bigint | undefined;
  minOwedMicro?: bigint | undefined;
  /** Only users after this one. */
  after?: string | undefined;
  limit: number;
}

/** The users among whom one search looks for a part of an id: some 25 ms of the database's work. */
const SEARCHED = 100_000;

/**
 * Users that match, by id. The indexes of states, jurisdictions and scores serve those filters. A part of an id is
 * searched among so many users, debts are among those who ever owed, and exposures are summed from the open positions
 * of all users.
 * @returns also the last user that a search looked at, if there may be others
 */
export async function listTraderIds(
  sql: ReadSql,
  filter: TraderFilter,
): Promise<{ ids: string[]; reached: string | undefined }> {
  const { q, limit } = filter;
  if (q === undefined) {
    const rows = await sql<{ id: string }[]>`${chosen(sql, filter)} limit ${limit}`;
    return { ids: rows.map(({ id }) => id), reached: undefined };
  }
  const rows = await sql<{ id: string; is_end: boolean }[]>`
    with part as materialized (${chosen(sql, filter)} limit ${SEARCHED})
    (select id, false as is_end from part where strpos(lower(id), lower(${q})) > 0 order by id limit ${limit})
     union all
    select max(id), true from part having count(*) = ${SEARCHED}`;
  return {
    ids: rows.filter(({ is_end }) => !is_end).map(({ id }) => id),
    reached: rows.find(({ is_end }) => is_end)?.id,
  };
}

/** Users by id whom all filters but that of the id select. */
function chosen(sql: ReadSql, filter: TraderFilter) {
  const { state, minScore, maxScore, jurisdiction, minExposureMicro, minOwedMicro, after } = filter;
  return sql`
    select t.id
      from trader t
     where true
       ${after === undefined ? sql`` : sql`and t.id > ${after}`}
       ${state === undefined ? sql`` : sql`and case when t.restricted then 'restricted' else t.kyc end = ${state}`}
       ${jurisdiction === undefined ? sql`` : sql`and ${isIn(sql, jurisdiction)}`}
       ${minScore === undefined ? sql`` : sql`and t.suitability_score >= ${minScore}`}
       ${maxScore === undefined ? sql`` : sql`and t.suitability_score <= ${maxScore}`}
       ${minExposureMicro === undefined || minExposureMicro === 0n ? sql`` : sql`and t.id in (${exposedTo(sql, minExposureMicro)})`}
       ${minOwedMicro === undefined || minOwedMicro === 0n ? sql`` : sql`and t.id in (${owing(sql, minOwedMicro)})`}
     order by t.id`;
}

/** A country includes its subdivisions, as in the lists of a policy. */
function isIn(sql: ReadSql, code: string) {
  return sql`(t.jurisdiction = ${code} or starts_with(t.jurisdiction, ${`${code}-`}))`;
}

/** Leaves out users without an open position. */
function exposedTo(sql: ReadSql, leastMicro: bigint) {
  return sql`
         select p.trader_id
           from book b
           join position p on p.market_id = b.market_id
          where b.status <> 'settled'
          group by p.trader_id
         having sum(p.cost_micro) >= ${String(leastMicro)}::bigint`;
}

function owing(sql: ReadSql, leastMicro: bigint) {
  return sql`
         select ${ownerOf(sql, "receivable", "id")}
           from account
          where ${isOfKind(sql, "receivable", "id")}
            and balance_micro <= ${String(-leastMicro)}::bigint`;
}

/** In micro-dollars. */
export interface Money {
  balanceMicro: bigint;
  exposureMicro: bigint;
  owedMicro: bigint;
}

/** Wallets, open positions and debts of these users, in one statement. */
export async function readMoneyOf(sql: ReadSql, ids: readonly string[]): Promise<Map<string, Money>> {
  const rows = await sql<{ id: string; balance: string | null; exposure: string | null; owed: string | null }[]>`
    select u.id, a.balance_micro as balance, -o.balance_micro as owed, e.exposure
      from unnest(${textArray(ids)}::text[], ${textArray(ids.map(walletOf))}::text[],
                  ${textArray(ids.map(receivableOf))}::text[]) as u (id, wallet, receivable)
      left join lateral (select balance_micro from account where id = u.wallet offset 0) a on true
      left join lateral (select balance_micro from account where id = u.receivable offset 0) o on true
      left join lateral (
             select sum(p.cost_micro) as exposure
               from position p
               join book b on b.market_id = p.market_id
              where p.trader_id = u.id
                and b.status <> 'settled') e on true`;
  return new Map(
    rows.map(({ id, balance, exposure, owed }) => [
      id,
      { balanceMicro: BigInt(balance ?? 0), exposureMicro: BigInt(exposure ?? 0), owedMicro: BigInt(owed ?? 0) },
    ]),
  );
}

/** How many users have passed an identity check without a known jurisdiction. */
export async function countVerifiedOfUnknownPlace(sql: ReadSql): Promise<number> {
  const places = await sql<{ jurisdiction: string | null; users: number }[]>`
    select jurisdiction, count(*)::int4 as users
      from trader
     where kyc = 'verified'
     group by jurisdiction`;
  const unknown = places.filter(({ jurisdiction }) => jurisdiction === null || placeOf(jurisdiction) === undefined);
  return unknown.reduce((sum, { users }) => sum + users, 0);
}
