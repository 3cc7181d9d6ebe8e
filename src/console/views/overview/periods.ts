import type { Api, WireResult } from "../../../contract/operations.ts";

/** The figures of one period, in dollars and numbers. */
export interface Period {
  volume: number;
  revenue: number;
  fees: number;
  spread: number;
  settled: number;
  traders: number;
}

/** The reports tell the period that ends now. Numbers of users do not add up, so they have no period before. */
export interface Compared {
  now: Period;
  before: Omit<Period, "traders">;
}

/** The chosen period, and the one of the same length before it. */
export async function readCompared(api: Api, days: number): Promise<Compared> {
  const [now, both] = await Promise.all([readPeriod(api, days), readPeriod(api, 2 * days)]);
  return { now, before: difference(both, now) };
}

async function readPeriod(api: Api, periodDays: number): Promise<Period> {
  const [overview, house] = await Promise.all([
    api.getOverviewReport({ periodDays }),
    api.getHouseReport({ periodDays }),
  ]);
  return {
    ...{ volume: overview.totalVolume, revenue: overview.houseRevenue, fees: house.totalFees },
    ...{ spread: house.spreadIncome, settled: overview.settledMarkets, traders: overview.activeTraders },
  };
}

/** One part of the period: the days before now at which it begins and ends. */
export interface Part {
  fromDaysAgo: number;
  toDaysAgo: number;
  volume: number;
  revenue: number;
}

const MOST_PARTS = 10;

/** Volume and revenue of the parts of a period, oldest first. Each is the difference of two reports. */
export async function readParts(api: Api, days: number): Promise<Part[]> {
  const step = Math.ceil(days / MOST_PARTS);
  const ends = Array.from({ length: Math.ceil(days / step) }, (_, index) => Math.min(days, (index + 1) * step));
  const reports = await Promise.all(ends.map((periodDays) => api.getOverviewReport({ periodDays })));
  return partsOf(reports).toReversed();
}

/** @param reports of periods that end now, the shortest first */
export function partsOf(reports: readonly WireResult<"getOverviewReport">[]): Part[] {
  return reports.map(({ periodDays, totalVolume, houseRevenue }, index) => {
    const shorter = reports[index - 1] ?? { periodDays: 0, totalVolume: 0, houseRevenue: 0 };
    return {
      fromDaysAgo: periodDays,
      toDaysAgo: shorter.periodDays,
      volume: exact(totalVolume - shorter.totalVolume),
      revenue: exact(houseRevenue - shorter.houseRevenue),
    };
  });
}

function difference(both: Period, now: Period): Compared["before"] {
  return {
    volume: exact(both.volume - now.volume),
    revenue: exact(both.revenue - now.revenue),
    fees: exact(both.fees - now.fees),
    spread: exact(both.spread - now.spread),
    settled: both.settled - now.settled,
  };
}

/** Sums of the interface have six decimals; a difference of two has more only by rounding. */
const exact = (dollars: number): number => Math.round(dollars * 1e6) / 1e6;
