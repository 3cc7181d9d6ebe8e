import type { KycState } from "../domain/trader.ts";
import { bigint, flag, nullable, rowReader, smallint, text, whole } from "../ledger/codec.ts";
import type { ReadSql } from "../postgres/connect.ts";
import { traderDays } from "./rollups.ts";

/** Users with equal standing, and their trades since a day. */
const toStanding = rowReader({
  jurisdiction: nullable(text()),
  kyc: text<KycState>(),
  restricted: flag(),
  suitabilityScore: nullable(smallint()),
  users: whole(),
  trades: whole(),
  volumeMicro: bigint(),
});
export type Standing = ReturnType<typeof toStanding>;

/** @param sinceDay beginning of a UTC day, in milliseconds since 1970 */
export async function listStandings(sql: ReadSql, sinceDay: number): Promise<Standing[]> {
  const rows = await sql`
    select t.jurisdiction, t.kyc, t.restricted, t.suitability_score, count(*) as users,
           coalesce(sum(d.trades), 0) as trades, coalesce(sum(d.volume_micro), 0) as volume_micro
      from trader t
      left join (
        select trader_id, sum(trades) as trades, sum(volume_micro) as volume_micro
          from ${traderDays(sql)} each
         where day >= ${sinceDay}::bigint
         group by trader_id
      ) d on d.trader_id = t.id
     group by t.jurisdiction, t.kyc, t.restricted, t.suitability_score`;
  return rows.map(toStanding);
}

/** The most trades that are examined: the latest ones. */
export const MAX_TRADES = 1_000_000;

/** The exposure cap of users with a score, before and after the change. */
export interface CapChange {
  /** -1 for users without a score. */
  score: number;
  beforeMicro: bigint;
  afterMicro: bigint;
}

export interface LimitImpact {
  /** How many purchases were examined. */
  examined: number;
  /** Whether these are all purchases of the period. */
  complete: boolean;
  /** Purchases above the new limit per trade. */
  overTrade: Amount;
  /** Purchases of exactly the old limit, whose traders may have wanted more. */
  atTradeLimit: Amount;
  /** Purchases that alone exceeded the user's new exposure cap. */
  overCap: Amount;
  /** Users who hold more than their new cap now, and by how much. */
  usersOverCap: Amount;
  /** Users within a hundredth of their old cap. */
  usersAtCap: number;
}

export interface Amount {
  count: number;
  micro: bigint;
}

/** The effect of limits per trade and on exposure on the purchases since an instant, and on present holdings. */
export async function readLimitImpact(
  sql: ReadSql,
  since: number,
  trade: { beforeMicro: bigint; afterMicro: bigint },
  caps: readonly CapChange[],
): Promise<LimitImpact> {
  const list = (of: (cap: CapChange) => bigint | number) => `{${caps.map(of).join(",")}}`;
  const cap = sql`
    select * from unnest(${list(({ score }) => score)}::int4[], ${list(({ beforeMicro }) => beforeMicro)}::bigint[],
                         ${list(({ afterMicro }) => afterMicro)}::bigint[]) as cap (score, before, after)`;
  const after = String(trade.afterMicro);
  const [purchases] = await sql`
    with cap as (${cap})
    select count(*) filter (where recent) as examined,
           count(*) < ${MAX_TRADES} or not bool_and(recent) as complete,
           count(*) filter (where over_trade) as over_trade, sum(amount_micro) filter (where over_trade) as over_trade_micro,
           count(*) filter (where at_limit) as at_limit, sum(amount_micro) filter (where at_limit) as at_limit_micro,
           count(*) filter (where over_cap) as over_cap, sum(amount_micro) filter (where over_cap) as over_cap_micro
      from (
        select t.amount_micro,
               recent,
               recent and t.amount_micro > ${after}::bigint as over_trade,
               recent and t.amount_micro = ${String(trade.beforeMicro)}::bigint as at_limit,
               recent and t.amount_micro > cap.after and cap.after < cap.before as over_cap
          from (
            select *, ts >= ${since}::bigint and released_micro is null as recent
              from trade
             order by seq desc
             limit ${MAX_TRADES}
          ) t
          left join trader u on u.id = t.trader_id
          left join cap on cap.score = coalesce(u.suitability_score, -1)
      ) judged`;
  const [holders] = await sql`
    with cap as (${cap})
    select count(*) filter (where held > after) as over_cap, sum(held - after) filter (where held > after) as over_micro,
           count(*) filter (where held * 100 >= before * 99) as at_cap
      from (
        select p.trader_id, sum(p.cost_micro) as held
          from position p
          join book b on b.market_id = p.market_id
         where b.status <> 'settled'
         group by p.trader_id
      ) exposure
      join trader u on u.id = exposure.trader_id
      join cap on cap.score = coalesce(u.suitability_score, -1)`;
  const amount = (count: unknown, micro: unknown) => ({ count: Number(count ?? 0), micro: BigInt(String(micro ?? 0)) });
  return {
    examined: Number(purchases?.examined ?? 0),
    complete: (purchases?.complete as boolean | null) ?? true,
    overTrade: amount(purchases?.over_trade, purchases?.over_trade_micro),
    atTradeLimit: amount(purchases?.at_limit, purchases?.at_limit_micro),
    overCap: amount(purchases?.over_cap, purchases?.over_cap_micro),
    usersOverCap: amount(holders?.over_cap, holders?.over_micro),
    usersAtCap: Number(holders?.at_cap ?? 0),
  };
}
