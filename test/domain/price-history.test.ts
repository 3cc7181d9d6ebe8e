import { describe, expect, test } from "vitest";
import { historyFrom, hourlyHistory, MAX_HISTORY_HOURS } from "../../src/domain/history.ts";

const HOUR = 3_600_000;
/** A full hour. */
const NOON = 500_000 * HOUR;
const life = { createdAt: NOON + 60_000, p0Ppm: 400_000, endAt: NOON + 4.5 * HOUR, latestPpm: 700_000 };

describe("the price history", () => {
  test("opens at p0, has a point at each full hour, repeats the price of quiet hours, and ends with the latest", () => {
    const hours = [
      { hour: NOON, yesPpm: 500_000 },
      { hour: NOON + 2 * HOUR, yesPpm: 600_000 },
      { hour: NOON + 4 * HOUR, yesPpm: 700_000 },
    ];
    expect(hourlyHistory(life, hours)).toEqual([
      { t: NOON + 60_000, yesPpm: 400_000 },
      { t: NOON + HOUR, yesPpm: 500_000 },
      { t: NOON + 2 * HOUR, yesPpm: 500_000 },
      { t: NOON + 3 * HOUR, yesPpm: 600_000 },
      { t: NOON + 4 * HOUR, yesPpm: 600_000 },
      { t: NOON + 4.5 * HOUR, yesPpm: 700_000 },
    ]);
  });

  test("a market without trades stays at p0", () => {
    const points = hourlyHistory({ ...life, latestPpm: 400_000 }, []);
    expect(points).toHaveLength(6);
    expect(new Set(points.map(({ yesPpm }) => yesPpm))).toEqual(new Set([400_000]));
  });

  test("no instant has two points: not at an end on the full hour, not for a market just created", () => {
    const onTheHour = hourlyHistory({ ...life, endAt: NOON + 2 * HOUR }, []);
    expect(onTheHour.map(({ t }) => t)).toEqual([NOON + 60_000, NOON + HOUR, NOON + 2 * HOUR]);
    expect(hourlyHistory({ ...life, endAt: life.createdAt }, [])).toEqual([{ t: life.createdAt, yesPpm: 400_000 }]);
    const created = hourlyHistory({ ...life, createdAt: NOON, endAt: NOON + HOUR }, []);
    expect(created.map(({ t }) => t)).toEqual([NOON, NOON + HOUR]);
  });

  test("a market of many years shows its opening, its last year by the hour, and its latest price", () => {
    const endAt = NOON + 20 * 366 * 24 * HOUR + 1;
    const from = historyFrom(life.createdAt, endAt);
    const points = hourlyHistory({ ...life, endAt }, [{ hour: from - 1000 * HOUR, yesPpm: 123_000 }]);
    expect(points).toHaveLength(MAX_HISTORY_HOURS + 2);
    expect(points[0]).toEqual({ t: life.createdAt, yesPpm: 400_000 });
    expect(points[1]).toEqual({ t: from, yesPpm: 123_000 });
    expect(points.at(-2)).toEqual({ t: endAt - 1, yesPpm: 123_000 });
    expect(points.at(-1)).toEqual({ t: endAt, yesPpm: 700_000 });
  });
});
