import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { pointsOf, stepsOf } from "../../src/domain/embed/curve-steps.ts";
import { EventReader } from "../../src/domain/event-reader.ts";
import { FAULT_CODES } from "../../src/domain/fault.ts";
import { Refused } from "../../src/embed/api.ts";
import { reachingNow, summaryOf } from "../../src/embed/chart/curve.ts";
import { percentRange } from "../../src/embed/chart/percent-range.ts";
import { joined, type ListedMarket, narrowed, renewed } from "../../src/embed/state/list-pages.ts";
import { ServerClock } from "../../src/embed/stream/clock.ts";
import { mayHaveHappened, sayWords, wordsFor } from "../../src/embed/words.ts";
import { CATALOGUES } from "../../src/locales/catalogues.ts";
import { formatsFor, toneOf } from "../../src/locales/formats.ts";
import { speakerFor } from "../../src/locales/speaker.ts";
import { curveOf, endingWith } from "../../src/server/pages/embed-data.ts";

/** The reader's own, wherever they are. */
const NOON = new Date(2030, 4, 17, 12).getTime();

const { axisTime, cents, chance, dollars, duration, shares, signed, volume } = formatsFor("en");

describe("numbers and times", () => {
  test.each([
    [chance(0.5), "50%"],
    [chance(0.004), "<1%"],
    [chance(0.996), ">99%"],
    [cents(0.4756), "47.6¢"],
    [dollars(1234.5), "$1,234.50"],
    [volume(999.5), "$999.50"],
    [volume(12_345), "$12.3K"],
    [shares(1234.567), "1,234.56"],
    [signed(1.5), "+$1.50"],
    [signed(-1.5), "-$1.50"],
    [signed(0), "$0.00"],
    [signed(-0.004), "$0.00"],
    [toneOf(-0.004), ""],
    [toneOf(0.01), "gain"],
    [toneOf(-0.01), "loss"],
    [duration(999), "1 second"],
    [duration(59_999), "59 seconds"],
    [duration(60_000), "1 minute"],
    [duration(3_600_000 * 23), "23 hours"],
    [duration(86_400_000 * 400), "400 days"],
  ])("%s reads as %s", (got, wanted) => expect(got).toBe(wanted));

  test("an axis names clock times, days or months, as its ticks are apart", () => {
    const at = NOON;
    expect(axisTime(at, 600_000)).toMatch(/^\d+:\d\d\s[AP]M$/);
    expect(axisTime(at, 86_400_000)).toBe("May 17");
    expect(axisTime(at, 40 * 86_400_000)).toBe("May 2030");
  });
});

const ENGLISH = speakerFor("en", CATALOGUES.en);

describe("a list of markets", () => {
  const market = (id: string, question: string, category = "a") =>
    ({ id, question, category }) as unknown as ListedMarket;
  const page = (ids: string[], nextCursor: string | null = null) => ({
    items: ids.map((id) => market(id, id)),
    nextCursor,
    sparks: Object.fromEntries(ids.map((id) => [id, [1]])),
  });
  const idsOf = ({ items }: { items: readonly ListedMarket[] }) => items.map(({ id }) => id);

  test("is narrowed down to a category and to questions with every word, however they are written", () => {
    const all = [market("1", "Will gold rise?"), market("2", "Gold or Silver?", "b"), market("3", "Will it snow?")];
    const found = (words: string, category: string) => narrowed(all, words, category).map(({ id }) => id);
    expect([found("gold", ""), found("gold", "b"), found("WILL  gold", ""), found("", "a")]).toEqual([
      ["1", "2"],
      ["2"],
      ["1"],
      ["1", "3"],
    ]);
  });

  test("that grew by pages keeps them when its first is read again, and shows a market once", () => {
    const grown = joined(page(["a", "b"], "2"), page(["b", "c"], "3"));
    expect([idsOf(grown), grown.nextCursor, Object.keys(grown.sparks)]).toEqual([
      ["a", "b", "c"],
      "3",
      ["a", "b", "c"],
    ]);
    const again = renewed(grown, page(["x", "a"], "2"));
    expect([idsOf(again), again.nextCursor]).toEqual([["x", "a", "b", "c"], "3"]);
    expect(idsOf(renewed(page(["a", "b"]), page(["b", "c"])))).toEqual(["b", "c"]);
  });
});

describe("the curve", () => {
  test("is summed up in a sentence", () => {
    expect(summaryOf(ENGLISH, [])).toBe("No trades yet");
    const at = NOON;
    expect(summaryOf(ENGLISH, [{ t: at, yes: 0.5 }])).toBe(`50% chance, unchanged since ${ENGLISH.moment(at)}.`);
    const ends = [
      { t: at, yes: 0.5 },
      { t: at + 1, yes: 0.38 },
    ];
    expect(summaryOf(ENGLISH, ends)).toBe(`38% chance, down 12 points since ${ENGLISH.moment(at)}.`);
    expect(summaryOf(ENGLISH, ends, true)).toBe(`Before the result: down 12 points since ${ENGLISH.moment(at)}.`);
    expect(summaryOf(ENGLISH, [ends[0], { t: at + 1, yes: 0.51 }] as typeof ends)).toContain("up 1 point since");
    const back = [...ends, { t: at + 2, yes: 0.5 }];
    const swung = `50% chance, unchanged since ${ENGLISH.moment(at)}; between 38% and 50%.`;
    expect(summaryOf(ENGLISH, back)).toBe(swung);
  });

  test("reaches the present, and never runs backwards", () => {
    expect(reachingNow([{ t: 1, yes: 0.4 }], 5)).toEqual([
      { t: 1, yes: 0.4 },
      { t: 5, yes: 0.4 },
    ]);
    expect(reachingNow([{ t: 9, yes: 0.4 }], 5)).toEqual([{ t: 9, yes: 0.4 }]);
    expect(reachingNow([], 5)).toEqual([]);
  });

  test("fits its axis, which has a sensible height and stays within 0 and 100", () => {
    const percent = fc.double({ min: 0, max: 100, noNaN: true });
    fc.assert(
      fc.property(percent, percent, (a, b) => {
        const [low, high] = [Math.min(a, b), Math.max(a, b)];
        const [bottom, top] = percentRange(low, high);
        expect(bottom).toBeGreaterThanOrEqual(0);
        expect(top).toBeLessThanOrEqual(100);
        expect(bottom).toBeLessThanOrEqual(low);
        expect(top).toBeGreaterThanOrEqual(high);
        expect(top - bottom).toBeGreaterThan(19.999);
      }),
      { seed: 3 },
    );
  });

  test("loses repeats and nothing else, up to what a chart can show", () => {
    const at = (hour: number) => new Date(hour * 3_600_000).toISOString();
    const steps = curveOf([0.5, 0.5, 0.6, 0.6, 0.5].map((yes, hour) => ({ t: at(hour), yes, no: 1 - yes })));
    expect(steps).toEqual([
      [0, 0.5],
      [2 * 3_600_000, 0.6],
      [4 * 3_600_000, 0.5],
    ]);
    const year = curveOf(Array.from({ length: 8784 }, (_, hour) => ({ t: at(hour), yes: (hour % 90) / 100, no: 0 })));
    expect(year.length).toBeLessThanOrEqual(402);
    expect(year.at(-1)?.[0]).toBe(8783 * 3_600_000);
  });

  test("ends with single trades where they are known, in order, and with the price that holds now", () => {
    const hours: [number, number][] = [
      [0, 0.5],
      [3600, 0.6],
      [7200, 0.7],
      [9000, 0.72],
    ];
    const trades = [
      { t: 5000, yesPpm: 650_000 },
      { t: 8000, yesPpm: 720_000 },
    ];
    expect(endingWith(trades, hours)).toEqual([
      [0, 0.5],
      [3600, 0.6],
      [5000, 0.65],
      [8000, 0.72],
      [9000, 0.72],
    ]);
    expect(endingWith([], hours)).toEqual(hours);
    expect(pointsOf(stepsOf(hours))).toEqual(hours);
    expect(pointsOf(stepsOf([]))).toEqual([]);
    const many = Array.from({ length: 500 }, (_, n) => ({ t: 4000 + n, yesPpm: 500_000 + n }));
    const thinned = endingWith(many, hours);
    expect(thinned.length).toBe(2 + 200 + 1);
    expect(thinned.map(([t]) => t)).toEqual(thinned.map(([t]) => t).toSorted((a, b) => a - b));
  });
});

describe("the stream", () => {
  const text =
    ': connected\n\nevent: price\ndata: {"marketId":"m","yesPrice":0.4}\n\nid: 7\nevent: trade\ndata: {"side":"yes: no"}\n\n: still here\n\n';
  const events = [
    { event: "price", data: { marketId: "m", yesPrice: 0.4 } },
    { event: "trade", data: { side: "yes: no" } },
  ];

  test("gives the same events however it is cut", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: text.length - 1 }), { maxLength: 12 }), (cuts) => {
        const reader = new EventReader();
        const edges = [0, ...cuts.toSorted((a, b) => a - b), text.length];
        const got = edges.slice(1).flatMap((end, index) => reader.read(text.slice(edges[index], end)));
        expect(got).toEqual(events);
        expect(reader.lastId).toBe("7");
      }),
      { seed: 5 },
    );
  });

  test("that broke off in the middle of an event starts afresh, and remembers where it was", () => {
    const reader = new EventReader();
    reader.read(text);
    expect(reader.read("event: price\ndata: {")).toEqual([]);
    reader.reset();
    expect(reader.read(text)).toEqual(events);
    expect(reader.lastId).toBe("7");
  });
});

test("a document from a cache counts by the server's time as soon as an answer states it, and a fresh one is left alone", () => {
  const now = 1_900_000_000_750;
  const stated = Math.floor(now / 1000) * 1000;
  const cached = new ServerClock(now - 90_000);
  cached.correct(stated);
  expect(Math.abs(cached.now() - now)).toBeLessThan(60_000);
  const fresh = new ServerClock(now);
  for (const none of [stated, Number.NaN]) fresh.correct(none);
  expect(fresh.now()).toBeGreaterThanOrEqual(now);
});

describe("words", () => {
  const speaker = speakerFor("en", CATALOGUES.en);

  test("no refusal is told with a code, a URL or an empty sentence", () => {
    for (const code of FAULT_CODES) {
      const text = sayWords(speaker, wordsFor(new Refused(code, "The server's own words")));
      expect(text).toMatch(/^[A-Z].+\.$/);
      expect(text).not.toMatch(/[A-Z]{2,}_|http/);
    }
  });

  test("what may have happened is told apart from what has not", () => {
    const unsure = FAULT_CODES.filter((code) => mayHaveHappened(new Refused(code, "")));
    expect(unsure.sort()).toEqual(["DATABASE_UNAVAILABLE", "INTERNAL", "OUTCOME_UNKNOWN", "UNREACHABLE"]);
  });

  test("a refusal that ends by itself says when, in every language", () => {
    const until = new Date(NOON).toISOString();
    for (const [locale, messages] of Object.entries(CATALOGUES)) {
      const one = speakerFor(locale, messages);
      const text = sayWords(one, wordsFor(new Refused("SUITABILITY_REQUIRED", "", 0, until)));
      expect(text.startsWith(one.say("refusal.suitability"))).toBe(true);
      expect(text).toContain(one.exact(until));
    }
    const { text, until: none } = wordsFor(new Refused("JURISDICTION_BLOCKED", "Not here"));
    expect([text, none]).toEqual(["Not here.", undefined]);
  });

  test("a time to wait is passed on", () => {
    expect(wordsFor(new Refused("RATE_LIMITED", "", 12)).waitSec).toBe(12);
    expect(wordsFor(new Refused("MARKET_CLOSED", "")).waitSec).toBeUndefined();
  });
});
