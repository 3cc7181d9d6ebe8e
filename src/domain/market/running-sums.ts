/** What a market traded in an hour, named by the instant at which it begins, and its last price in it. */
export interface HourSums {
  hour: number;
  hourVolumeMicro: bigint;
  hourFeeMicro: bigint;
  yesPricePpm: number;
}

/** What a trader traded on a UTC day, named by the instant at which it begins, and what sales brought over their cost. */
export interface DaySums {
  day: number;
  dayVolumeMicro: bigint;
  dayTrades: number;
  dayRealizedMicro: bigint;
}

/** Sums that go on, and those of an earlier span of time, which are complete. */
export interface Continued<Sums> {
  running: Sums;
  over: Sums | null;
}

/** Before the first trade. */
export const NO_HOUR: HourSums = { hour: 0, hourVolumeMicro: 0n, hourFeeMicro: 0n, yesPricePpm: 0 };
export const NO_DAY: DaySums = { day: 0, dayVolumeMicro: 0n, dayTrades: 0, dayRealizedMicro: 0n };

/** Adds a trade to the sums of a market. As trades are dated, none is of an earlier hour than the one before it. */
export function continueHour(held: HourSums, traded: HourSums): Continued<HourSums> {
  if (held.hour === traded.hour) return { running: addHours(held, traded), over: null };
  return { running: traded, over: held.hour === 0 ? null : held };
}

/** Adds a trade to the sums of a position. As trades are dated, none is of an earlier day than the one before it. */
export function continueDay(held: DaySums, traded: DaySums): Continued<DaySums> {
  if (held.day === traded.day) return { running: addDays(held, traded), over: null };
  return { running: traded, over: held.day === 0 ? null : held };
}

/** Sums of one hour; the last price is that of the later ones. */
export function addHours(earlier: HourSums, later: HourSums): HourSums {
  return {
    hour: later.hour,
    hourVolumeMicro: earlier.hourVolumeMicro + later.hourVolumeMicro,
    hourFeeMicro: earlier.hourFeeMicro + later.hourFeeMicro,
    yesPricePpm: later.yesPricePpm,
  };
}

/** Sums of one day. */
export function addDays(one: DaySums, other: DaySums): DaySums {
  return {
    day: other.day,
    dayVolumeMicro: one.dayVolumeMicro + other.dayVolumeMicro,
    dayTrades: one.dayTrades + other.dayTrades,
    dayRealizedMicro: one.dayRealizedMicro + other.dayRealizedMicro,
  };
}
