import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeTerms, encodeTerms, termsOf } from "../../src/domain/market/terms.ts";
import { parseReference, type Reference } from "../../src/domain/reference.ts";
import { runs } from "./random.ts";

const feeds = new Map([
  ["pm:btc", "a".repeat(64)],
  ["acme:steel", "b".repeat(64)],
]);
const closeAt = Date.parse("2030-01-31T18:00:00Z");
const terms = (resolutionRef: string, meta = {}) => termsOf({ resolutionRef, meta, closeAt }, feeds);

describe("a resolution reference", () => {
  test.each([
    ["pm:btc > 100000", { feed: "pm:btc", comparator: ">", strike: "100000" }],
    ["PM:BTC ABOVE 100000.50", { feed: "pm:btc", comparator: ">", strike: "100000.50" }],
    ["pm:btc>=1", { comparator: ">=", strike: "1" }],
    ["pm:wti below -37.63", { feed: "pm:wti", comparator: "<", strike: "-37.63" }],
    ["pm:btc <= 5 @ close", { comparator: "<=", instant: null }],
    ["pm:eurusd between 1.05..1.10", { comparator: "between", strike: "1.05", upperStrike: "1.10" }],
    ["pm:btc between -2 .. -1 by last", { strike: "-2", upperStrike: "-1", rule: { kind: "last" } }],
    [
      "pm:btc > 1 @ 2030-01-31T18:00:00+01:00 by twap(60s)",
      { instant: Date.parse("2030-01-31T17:00:00Z"), rule: { kind: "twap", windowMs: 60_000 } },
    ],
    [
      "acme:hot-rolled_1.5 > 1 by median( 5m )",
      { feed: "acme:hot-rolled_1.5", rule: { kind: "median", windowMs: 300_000 } },
    ],
  ])("%s is read", (text, expected) => {
    expect(parseReference(text)).toMatchObject({ kind: "reference", reference: expected });
  });

  test.each([
    ["pm:btc >", 8, "plain decimal"],
    ["pm:btc => 5", 7, "expected >"],
    ["pm:btc > 1,000", 9, "plain decimal"],
    ["pm:btc > 1e5", 9, "plain decimal"],
    ["pm:btc > 100000 maybe", 16, "expected the end"],
    ["pm:btc between 2..1", 18, "below the lower"],
    ["pm:btc between 2", 16, "upper bound"],
    ["pm:btc > 5 @ tomorrow", 13, "close or a time"],
    ["pm:btc > 5 @ 2030-02-30T00:00:00Z", 13, "a time with a zone"],
    ["pm:btc > 5 by vwap(60s)", 14, "expected last"],
    ["pm:btc > 5 by twap(2h)", 14, "1s to 1h"],
  ])("%s is wrong at character %i", (text, at, message) => {
    expect(parseReference(text)).toMatchObject({
      kind: "problem",
      problem: { at, message: expect.stringContaining(message) },
    });
  });

  test.each(["the press", "https://example.com/a", "Reuters: price of BTC", "", ":", "1:2"])(
    "%j is free text and no mistake",
    (text) => {
      expect(parseReference(text)).toEqual({ kind: "text" });
      expect(terms(text)).toEqual({ kind: "text" });
    },
  );

  test("whatever is written in the canonical spelling is read back the same, in any case", () => {
    const decimal = fc.tuple(fc.bigInt(-(10n ** 17n), 10n ** 17n), fc.nat(6)).map(([units, places]) => {
      const digits = String(units < 0n ? -units : units).padStart(places + 1, "0");
      return `${units < 0n ? "-" : ""}${digits.slice(0, digits.length - places)}${places ? `.${digits.slice(-places)}` : ""}`;
    });
    const reference: fc.Arbitrary<Reference> = fc.record({
      feed: fc.constantFrom("pm:btc", "acme:steel", "x:1.a-b_c"),
      comparator: fc.constantFrom(">", ">=", "<", "<="),
      strike: decimal,
      upperStrike: fc.constant(null),
      instant: fc.option(fc.integer({ min: 0, max: 4e12 })),
      rule: fc.oneof(
        fc.constant({ kind: "last" as const }),
        fc.record({
          kind: fc.constantFrom("twap" as const, "median" as const),
          windowMs: fc.integer({ min: 1, max: 3600 }).map((sec) => sec * 1000),
        }),
      ),
    });
    fc.assert(
      fc.property(reference, fc.boolean(), (written, upper) => {
        const text = referenceText(written);
        const parsed = parseReference(upper ? text.toUpperCase() : text);
        expect(parsed).toEqual({ kind: "reference", reference: written });
      }),
      runs(300),
    );
  });

  test("any text whatever is read, refused at one of its characters, or left alone", () => {
    const pieces = fc.array(
      fc.oneof(
        fc.constantFrom("pm:btc", " ", ">", "between", "1", "..", "@", "close", "by", "twap(60s)", "-"),
        fc.string(),
      ),
    );
    fc.assert(
      fc.property(
        pieces.map((parts) => parts.join("")),
        (text) => {
          const parsed = parseReference(text);
          if (parsed.kind !== "problem") return;
          expect(parsed.problem.at).toBeGreaterThan(0);
          expect(parsed.problem.at).toBeLessThanOrEqual(text.length);
        },
      ),
      runs(1000),
    );
  });
});

describe("the terms of a market", () => {
  test("hold the instant, the strike as it was written, and the hash of the feed", () => {
    const outcome = terms("pm:btc > 100000.0");
    expect(outcome).toEqual({
      kind: "terms",
      terms: {
        feed: "pm:btc",
        comparator: ">",
        strike: "100000.0",
        upperStrike: null,
        instant: closeAt,
        rule: { kind: "last" },
        feedSha256: "a".repeat(64),
      },
    });
    if (outcome.kind === "terms") expect(decodeTerms(encodeTerms(outcome.terms))).toEqual(outcome.terms);
  });

  test("come from meta when the reference is a bare feed key", () => {
    expect(terms("pm:btc", { strike: 100000 })).toMatchObject({ terms: { comparator: ">", strike: "100000" } });
    expect(terms("pm:btc", { strike: "1.5", comparator: "<=" })).toMatchObject({
      terms: { comparator: "<=", strike: "1.5" },
    });
    expect(terms("pm:btc", { strike: "1..2", comparator: "between" })).toMatchObject({ terms: { upperStrike: "2" } });
    for (const meta of [
      {},
      { strike: null },
      { strike: "1 by last @" },
      { strike: 1e21 },
      { strike: 1, comparator: "about" },
    ])
      expect(terms("pm:btc", meta)).toMatchObject({ kind: "problem" });
  });

  test("are not made of a feed that does not exist", () => {
    expect(terms("pm:doge > 1")).toEqual({ kind: "problem", problem: { at: 0, message: "there is no feed pm:doge" } });
    expect(terms("acme:steel > 1")).toMatchObject({ kind: "terms" });
  });
});

/** The reference in its one canonical spelling. */
function referenceText({ feed, comparator, strike, upperStrike, instant, rule }: Reference): string {
  const bounds = upperStrike === null ? strike : `${strike}..${upperStrike}`;
  const moment = instant === null ? "close" : new Date(instant).toISOString();
  const how = rule.kind === "last" ? "last" : `${rule.kind}(${rule.windowMs / 1000}s)`;
  return `${feed} ${comparator} ${bounds} @ ${moment} by ${how}`;
}
