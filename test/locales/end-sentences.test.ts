import { describe, expect, test } from "vitest";
import { CATALOGUES } from "../../src/locales/catalogues.ts";
import { endSentences, type MarketEnd, needsSentences } from "../../src/locales/end-sentences.ts";
import { outcomeSaid } from "../../src/locales/outcome-words.ts";
import type { Sentence } from "../../src/locales/sentence-pieces.ts";
import { speakerFor } from "../../src/locales/speaker.ts";

const LOCALES = Object.keys(CATALOGUES) as (keyof typeof CATALOGUES)[];
const speakers = new Map(LOCALES.map((each) => [each, speakerFor(each, CATALOGUES[each], { timeZone: "UTC" })]));
const speakerOf = (locale: (typeof LOCALES)[number]) => speakers.get(locale) as ReturnType<typeof speakerFor>;

const AT = "2030-05-01T12:00:00.000Z";
const LATER = "2030-05-02T12:00:00.000Z";
const end = (change: Partial<MarketEnd>): MarketEnd => ({
  outcome: "yes",
  settledAt: AT,
  reason: null,
  corrections: [],
  ...change,
});
/** Times and an operator's words in brackets. */
const textOf = (pieces: Sentence) =>
  pieces
    .map((piece) => (typeof piece === "string" ? piece : `[${"at" in piece ? piece.at.slice(0, 10) : piece.quote}]`))
    .join("");
const said = (market: MarketEnd, locale: (typeof LOCALES)[number] = "en") =>
  endSentences(speakerOf(locale), market).map(textOf);

describe("how a market ended is told in sentences", () => {
  test.each([
    [end({ outcome: null, settledAt: null }), []],
    [end({}), ["Settled [2030-05-01]: each share of Yes was paid one dollar."]],
    [end({ outcome: "void", reason: "Rain" }), ["Refunded: the market was voided on [2030-05-01]: [Rain]"]],
    [end({ outcome: { yes: 0.4 } }), ["Settled [2030-05-01]: Yes pays 40%, No 60%."]],
    [
      end({ outcome: "no", reason: "Dew", corrections: [{ from: "yes", to: "no", at: LATER, reason: "Dew" }] }),
      [
        "Settled [2030-05-01]: each share of Yes was paid one dollar.",
        "Corrected on [2030-05-02] from “Yes” to “No”: [Dew]",
      ],
    ],
    [
      end({
        outcome: { yes: 0.25 },
        reason: "x",
        corrections: [{ from: "void", to: { yes: 0.25 }, at: LATER, reason: "x" }],
      }),
      [
        "Refunded: the market was voided on [2030-05-01].",
        "Corrected on [2030-05-02] from “Void” to “Yes pays 25%, No 75%”: [x]",
      ],
    ],
  ])("%j", (market, sentences) => expect(said(market)).toEqual(sentences));

  test.each(LOCALES)("in %s, with every time and reason", (locale) => {
    const corrections = [
      { from: "void", to: { yes: 0.4 }, at: LATER, reason: "{time}" },
      { from: { yes: 0.4 }, to: "no", at: LATER, reason: "b" },
    ] as const;
    const sentences = said(end({ outcome: "no", reason: "b", corrections }), locale);
    expect(sentences).toHaveLength(3);
    expect(sentences[0]).toContain("[2030-05-01]");
    expect(sentences[1]).toMatch(/\[2030-05-02\].*\[\{time\}\]$/);
    expect(said(end({ outcome: "void", reason: "Why" }), locale)[0]).toMatch(/\[2030-05-01\].*\[Why\]$/);
    expect(sentences.join("")).not.toMatch(/\{(?!time)/);
  });
});

test("what each side is paid is exact to the last digit of a fraction", () => {
  expect(outcomeSaid(speakerOf("en"), { yes: 0.333333 })).toBe("Yes pays 33.3333%, No 66.6667%");
  expect(outcomeSaid(speakerOf("de"), { yes: 0.999999 })).toMatch(/^Ja zahlt 99,9999.%, Nein 0,0001.%$/);
});

test("a market that one side won, once and for all, needs no more than its outcome's name", () => {
  expect(needsSentences(end({ outcome: null, settledAt: null }))).toBe(false);
  expect(needsSentences(end({}))).toBe(false);
  expect(needsSentences(end({ outcome: "void" }))).toBe(true);
  expect(needsSentences(end({ corrections: [{ from: "no", to: "yes", at: LATER, reason: "" }] }))).toBe(true);
});
