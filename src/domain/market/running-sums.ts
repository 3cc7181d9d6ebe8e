/** A market's trades in one hour, named by its start, and the last price of that hour. */
export interface HourSums {
  hour: number;
  hourVolumeMicro: bigint;
  hourFeeMicro: bigint;
  yesPricePpm: number;
}

/** A trader's trades on one UTC day, named by its start, and the profit of sales over their cost. */
export interface DaySums {
  day: number;
  dayVolumeMicro: bigint;
  dayTrades: number;
  dayRealizedMicro: bigint;
}

/** The continued sums, and the completed sums of an earlier span. */
export interface Continued<Sums> {
  running: Sums;
  over: Sums | null;
}

/** Before the first trade. */
export const NO_HOUR: HourSums = { hour: 0, hourVolumeMicro: 0n, hourFeeMicro: 0n, yesPricePpm: 0 };
export const NO_DAY: DaySums = { day: 0, dayVolumeMicro: 0n, dayTrades: 0, dayRealizedMicro: 0n };

/** Adds a trade to a market's sums. Trades have ascending times, so no trade belongs to an earlier hour than the previous one. */
export function continueHour(held: HourSums, traded: HourSums): Continued<HourSums> {
  if (held.hour === traded.hour) return { running: addHours(held, traded), over: null };
  return { running: traded, over: held.hour === 0 ? null : held };
}

/** Adds a trade to a position's sums. Trades have ascending times, so no trade belongs to an earlier day than the previous one. */
export function continueDay(held: DaySums, traded: DaySums): Continued<DaySums> {
  if (held.day === traded.day) return { running: addDays(held, traded), over: null };
  return { running: traded, over: held.day === 0 ? null : held };
}

/** Combines sums of the same hour; the last price comes from the later sums. */
export function addHours(earlier: HourSums, later: HourSums): HourSums {
  return {
    hour: later.hour,
    hourVolumeMicro: earlier.hourVolumeMicro + later.hourVolumeMicro,
    hourFeeMicro: earlier.hourFeeMicro + later.hourFeeMicro,
    yesPricePpm: later.yesPricePpm,
  };
}

/** Combines sums of the same day. */
export function addDays(one: DaySums, other: DaySums): DaySums {
  return {
    day: other.day,
    dayVolumeMicro: one.dayVolumeMicro + other.dayVolumeMicro,
    dayTrades: one.dayTrades + other.dayTrades,
    dayRealizedMicro: one.dayRealizedMicro + other.dayRealizedMicro,
  };
}
