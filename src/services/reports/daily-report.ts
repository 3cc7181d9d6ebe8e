import type { Input, Result } from "../../contract/operations.ts";
import { DAY_MS } from "../../domain/time/units.ts";
import {
  countActiveAround,
  countActiveByDay,
  type DayRow,
  listDayResults,
  listExposureChanges,
} from "../../queries/daily-reports.ts";
import { readPeriodStart } from "../../queries/reports.ts";
import type { ServiceContext } from "../context.ts";

type Daily = Result<"getDailyReport">;

/** A period day by day, compared with the period of the same length before it. */
export async function dailyReport({ pool }: ServiceContext, { periodDays }: Input<"getDailyReport">): Promise<Daily> {
  const read = await pool.snapshot(async (sql) => {
    const startMs = await readPeriodStart(sql, periodDays);
    const beforeMs = startMs - periodDays * DAY_MS;
    const [results, byDay, traders, changes] = await Promise.all([
      listDayResults(sql, beforeMs),
      countActiveByDay(sql, startMs),
      countActiveAround(sql, beforeMs, startMs),
      listExposureChanges(sql, beforeMs),
    ]);
    return { startMs, beforeMs, results, byDay, traders, changes };
  });
  const { startMs, beforeMs, traders } = read;
  const days = daysOf(read, 2 * periodDays);
  const sumOf = (from: number, until: number, activeTraders: number) =>
    total(
      days.filter(({ day }) => day >= from && day < until),
      activeTraders,
    );
  return {
    periodDays,
    now: sumOf(startMs, Number.POSITIVE_INFINITY, traders.now),
    before: sumOf(beforeMs, startMs, traders.before),
    days: days.filter(({ day }) => day >= startMs),
  };
}

function daysOf(
  {
    beforeMs,
    results,
    byDay,
    changes,
  }: {
    beforeMs: number;
    results: readonly DayRow[];
    byDay: ReadonlyMap<number, number>;
    changes: ReadonlyMap<number, number>;
  },
  count: number,
): Daily["days"] {
  const rowOf = new Map(results.map((row) => [row.day, row]));
  let exposure = changes.get(beforeMs - DAY_MS) ?? 0;
  return Array.from({ length: count }, (_, index) => {
    const day = beforeMs + index * DAY_MS;
    const { volumeMicro = 0n, feeMicro = 0n, spreadMicro = 0n, settledMarkets = 0 } = rowOf.get(day) ?? {};
    exposure += changes.get(day) ?? 0;
    return {
      ...{ day, volume: volumeMicro, fees: feeMicro, spreadIncome: spreadMicro, houseRevenue: feeMicro + spreadMicro },
      ...{ settledMarkets, activeTraders: byDay.get(day) ?? 0, exposure: toTheCent(exposure) },
    };
  });
}

/** The exposure is that at the end of the last day. */
function total(days: Daily["days"], activeTraders: number): Daily["now"] {
  const sum = (of: (day: Daily["days"][number]) => bigint) => days.reduce((all, day) => all + of(day), 0n);
  return {
    volume: sum(({ volume }) => volume),
    fees: sum(({ fees }) => fees),
    spreadIncome: sum(({ spreadIncome }) => spreadIncome),
    houseRevenue: sum(({ houseRevenue }) => houseRevenue),
    settledMarkets: days.reduce((all, { settledMarkets }) => all + settledMarkets, 0),
    activeTraders,
    exposure: days.at(-1)?.exposure ?? 0n,
  };
}

const CENT_MICRO = 10_000;
/** The prices behind it have six decimals: more digits would claim more than they know. */
const toTheCent = (micro: number): bigint => BigInt(Math.round(Math.max(micro, 0) / CENT_MICRO) * CENT_MICRO);
