import { describe, expect, test } from "vitest";
import { CATALOGUES } from "../../src/locales/catalogues.ts";
import { sourceSentence } from "../../src/locales/source-sentence.ts";
import { speakerFor } from "../../src/locales/speaker.ts";

const sentence = (locale: keyof typeof CATALOGUES, resolutionRef: string, meta = {}) =>
  sourceSentence(speakerFor(locale, CATALOGUES[locale], { timeZone: "UTC" }), { resolutionRef, meta });

describe("a reference to a feed is told as a sentence", () => {
  test.each([
    ["pm:btc > 200000 @ close", "the price of Bitcoin when the market closes: Yes if it is above 200,000."],
    [
      "PM:EURUSD between 1.0855..1.10",
      "EUR/USD when the market closes: Yes if it is between 1.0855 and 1.1, both included.",
    ],
    [
      "pm:xau <= 5000 @ 2030-01-31T18:00:00Z",
      "the price of Gold on Jan 31, 2030, 6:00 PM UTC: Yes if it is 5,000 or less.",
    ],
    ["lab:heat >= 21.5 by twap(90s)", "HEAT over 90 seconds, when the market closes: Yes if it is 21.5 or more."],
    ["lab:heat < 1 by median(1h)", "the median price of HEAT over 1 hour,"],
    ["pm:btc > 0.123456789012345678", "Yes if it is above 0.123456789012345678."],
  ])("%s", (reference, end) => {
    expect(
      sentence("en", reference)
        .join("")
        .replace(/\u202f/g, " "),
    ).toContain(end);
  });

  test("a feed alone takes its condition from the market's data, as its settlement does", () => {
    expect(sentence("en", "pm:btc", { strike: 5, comparator: "<" }).join("")).toContain("Yes if it is below 5.");
    expect(sentence("en", "pm:btc", {}).join("")).toBe("Decided by: pm:btc");
  });

  test.each(Object.keys(CATALOGUES) as (keyof typeof CATALOGUES)[])("in %s, with every part", (locale) => {
    const text = sentence(locale, "pm:btc between 100..200 @ 2030-01-31T18:00:00Z by twap(60s)").join("");
    for (const part of ["Bitcoin", "100", "200", "2030", CATALOGUES[locale]["common.yes"]])
      expect(text).toContain(part);
    expect(text).not.toMatch(/[{}]/);
  });
});

describe("another text stands as it is", () => {
  test("and its addresses are links, without the punctuation around them", () => {
    expect(sentence("en", "The table (https://example.com/a?b=1). Or http://x.org/")).toEqual([
      "Decided by: ",
      "The table (",
      { href: "https://example.com/a?b=1", text: "https://example.com/a?b=1" },
      "). Or ",
      { href: "http://x.org/", text: "http://x.org/" },
    ]);
  });

  test("but no other scheme, and nothing that is not an address", () => {
    for (const text of [
      "javascript:alert(1)",
      "data:text/html,x",
      "https://",
      "https://[",
      "https://good@evil.example/",
      "https://a:b@evil.example/",
      "pm:btc > oops",
    ])
      expect(sentence("en", text).join("")).toBe(`Decided by: ${text}`);
  });
});
