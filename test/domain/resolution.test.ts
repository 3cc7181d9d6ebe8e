import { describe, expect, test } from "vitest";
import { decimalText, parseDecimal } from "../../src/domain/decimal.ts";
import { type FeedDefinition, feedCatalogue } from "../../src/domain/feeds/feed.ts";
import { isTrading, parseTradingHours } from "../../src/domain/feeds/trading-hours.ts";
import { decide, type Observation, SETTLING_MS, type SourceRecord } from "../../src/domain/market/resolution.ts";
import type { MarketTerms } from "../../src/domain/market/terms.ts";
import type { PriceRule } from "../../src/domain/reference.ts";

const feeds = feedCatalogue({ acme: { steel: { sources: [{ use: "a", id: "steel" }], maxAge: 60_000 } } });
const feed = (key: string): FeedDefinition => feeds.get(key) ?? expect.fail(`no feed ${key}`);
const price = (text: string) => parseDecimal(text) ?? expect.fail(text);

function terms(at: string, change: Partial<MarketTerms> = {}): MarketTerms {
  const instant = Date.parse(at);
  return {
    feed: "acme:steel",
    comparator: ">",
    strike: "100",
    upperStrike: null,
    instant,
    rule: { kind: "last" },
    feedSha256: "",
    ...change,
  };
}

/** Observations as seconds from the instant and prices. */
function record(at: MarketTerms, observations: [sec: number, price: string, conf?: string][], use = "a"): SourceRecord {
  return {
    source: { use, id: "x" },
    upstream: use,
    confirmedAt: at.instant + SETTLING_MS,
    observations: observations.map(([sec, text, conf]): Observation => {
      const observedAt = at.instant + sec * 1000;
      return { observedAt, price: price(text), conf: conf === undefined ? null : price(conf), receivedAt: observedAt };
    }),
  };
}

describe("a market's close and the feed's trading hours", () => {
  test.each([
    ["pm:xau", "2026-11-21T15:00:00Z", "held"],
    ["pm:eurusd", "2026-11-21T15:00:00Z", "held"],
    ["pm:btc", "2026-11-21T15:00:00Z", "resolved"],
    ["pm:aapl", "2026-11-20T20:59:00Z", "resolved"],
    ["pm:aapl", "2026-11-20T21:00:00Z", "resolved"],
    ["pm:aapl", "2026-11-20T21:00:01Z", "held"],
    // Thanksgiving, and the half day after it.
    ["pm:aapl", "2026-11-26T16:00:00Z", "held"],
    ["pm:aapl", "2026-11-27T17:59:00Z", "resolved"],
    ["pm:aapl", "2026-11-27T18:01:00Z", "held"],
    // New York moves its clocks on 2026-11-01, and Berlin a week before: the session follows each.
    ["pm:aapl", "2026-10-30T13:30:00Z", "resolved"],
    ["pm:aapl", "2026-11-02T13:30:00Z", "held"],
    ["pm:aapl", "2026-11-02T14:30:00Z", "resolved"],
    ["pm:ger40", "2026-10-23T07:00:00Z", "resolved"],
    ["pm:ger40", "2026-10-26T07:00:00Z", "held"],
    ["pm:ger40", "2026-10-26T08:00:00Z", "resolved"],
    // Gold pauses for an hour a day, and begins the week on Sunday evening.
    ["pm:xau", "2026-11-18T22:30:00Z", "held"],
    ["pm:xau", "2026-11-22T23:30:00Z", "resolved"],
    ["pm:xau", "2026-11-19T05:00:00Z", "resolved"],
  ])("%s at %s is %s, however fresh its price seems", (key, at, kind) => {
    const close = terms(at, { feed: key, strike: "1" });
    const [low] = feed(key).bounds ?? [1];
    const sources = ["a", "b"].map((use) => record(close, [[-1, String(low * 2)]], use));
    const verdict = decide(feed(key), close, sources);
    expect(verdict.kind).toBe(kind);
    if (verdict.kind === "held") expect(verdict.reason).toBe("session closed");
  });

  test("every session of the built-in instruments is in the notation, and nonsense is not", () => {
    for (const { key, hours } of feeds.values())
      if (hours) expect([key, parseTradingHours(hours)]).not.toContain(undefined);
    for (const text of [
      "",
      "UTC;O,O,O;",
      "Mars/Base;O,O,O,O,O,O,O;",
      "UTC;O,O,O,O,O,O,2500-2600;",
      "UTC;O,O,O,O,O,O,O;x/C",
    ])
      expect(parseTradingHours(text)).toBeUndefined();
    const always = parseTradingHours("UTC;O,O,O,O,O,O,O;");
    expect(always && isTrading(always, Date.parse("2026-11-21T00:00:00Z"))).toBe(true);
  });
});

describe("a window", () => {
  const at = "2026-11-20T15:00:00Z";
  const over = (rule: PriceRule, observations: [number, string][]) => {
    const close = terms(at, { rule });
    const verdict = decide(feed("acme:steel"), close, [record(close, observations)]);
    return verdict.kind === "resolved" ? decimalText(verdict.price) : verdict.reason;
  };

  test("twap weighs each price by how long it held, with what held when the window began", () => {
    expect(
      over({ kind: "twap", windowMs: 60_000 }, [
        [-70, "90"],
        [-30, "120"],
        [-10, "60"],
      ]),
    ).toBe("95");
    expect(
      over({ kind: "twap", windowMs: 60_000 }, [
        [-60, "0"],
        [-40, "1"],
        [-20, "1"],
      ]),
    ).toBe("0.666666666667");
    expect(
      over({ kind: "twap", windowMs: 60_000 }, [
        [-60, "0"],
        [-40, "-1"],
        [-20, "-1"],
      ]),
    ).toBe("-0.666666666667");
  });

  test("median takes the middle price, and the exact mean of two in the middle", () => {
    expect(
      over({ kind: "median", windowMs: 60_000 }, [
        [-50, "3"],
        [-30, "1000"],
        [-10, "4"],
      ]),
    ).toBe("4");
    expect(
      over({ kind: "median", windowMs: 60_000 }, [
        [-50, "3"],
        [-30, "1000"],
        [-20, "3.5"],
        [-10, "4"],
      ]),
    ).toBe("3.75");
  });

  test("with too few observations holds", () => {
    expect(
      over({ kind: "twap", windowMs: 60_000 }, [
        [-50, "1"],
        [-10, "1"],
      ]),
    ).toBe("window sparse");
  });
});

describe("what sources are unsure of", () => {
  test("a confidence interval that is too wide does not count, at the limit it does", () => {
    const close = terms("2026-11-20T15:00:00Z", { feed: "pm:xau", strike: "1" });
    const judge = (conf: string) => decide(feed("pm:xau"), close, [record(close, [[-1, "2000", conf]])]);
    expect(judge("10")).toMatchObject({ kind: "resolved", outcome: "yes" });
    expect(judge("10.0001")).toMatchObject({ kind: "held", reason: "confidence" });
  });

  test("a spread exactly at the limit is agreement", () => {
    const close = terms("2026-11-20T15:00:00Z", { feed: "pm:btc", strike: "1" });
    const judge = (other: string) =>
      decide(feed("pm:btc"), close, [
        record(close, [[-1, "100000"]]),
        record(close, [[-1, other]], "b"),
        record(close, [[-1, "100000"]], "c"),
      ]);
    expect(judge("100500")).toMatchObject({ kind: "resolved" });
    expect(judge("100500.01")).toMatchObject({ kind: "held", reason: "spread" });
  });

  test("a feed without a source that is configured is down", () => {
    expect(decide(feed("pm:xau"), terms("2026-11-20T15:00:00Z"), [])).toMatchObject({
      kind: "held",
      reason: "feed down",
    });
  });

  test("the built-in venue has the 41 instruments", () => {
    expect([...feedCatalogue().keys()]).toHaveLength(41);
    expect([...feedCatalogue().keys()]).toEqual(
      expect.arrayContaining(["pm:xau", "pm:usdaed", "pm:btc", "pm:hk50", "pm:ngas", "pm:jpm"]),
    );
  });
});
