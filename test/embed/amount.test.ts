import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { amountIn, amountText } from "../../src/embed/ticket/amount.ts";
import { CATALOGUES } from "../../src/locales/catalogues.ts";
import { formatsFor } from "../../src/locales/formats.ts";

describe("an amount as people type it", () => {
  test.each([
    // Whatever the language, where there is one way to read it.
    ["en", "25", 25],
    ["en", "2.5", 2.5],
    ["en", "2,50", 2.5],
    ["de", "2.50", 2.5],
    ["en", "1,000.50", 1000.5],
    ["de", "1,000.50", 1000.5],
    ["en", "1.000,50", 1000.5],
    ["fr", "1 000,50", 1000.5],
    ["en", "1'000.5", 1000.5],
    ["en", "1’000’000", 1_000_000],
    ["en", "1.000.000", 1_000_000],
    ["en", "$ 1,000", 1000],
    ["de", "1.000 $", 1000],
    ["en", "25 USD", 25],
    [".5", "en", 0.5],
    ["ja", "１，０００．５０", 1000.5],
    ["ar", "١٬٠٠٠٫٥", 1000.5],
    ["en", "۲۵", 25],
    ["en", "0,125", 0.125],
    ["en", "1.000000", 1],
    // Where countries differ, as the language writes numbers.
    ["en", "1,000", 1000],
    ["de", "1,000", 1],
    ["en", "1.000", 1],
    ["de", "1.000", 1000],
    ["es", "1.000", 1000],
    ["pt-BR", "1.000", 1000],
    ["ja", "1,000", 1000],
    ["de", "1٫000", 1],
  ] as const)("%s: %s is %s", (first, second, wanted) => {
    const [locale, text] = first === ".5" ? [second, first] : [first, second];
    expect(amountIn(text, locale)).toBe(BigInt(Math.round(wanted * 1e6)));
  });

  test.each([
    // A point between thousands is not how French writes them, nor are three decimals dollars.
    ["fr", "1.000"],
    ["en", "1,0000"],
    ["en", "1,00,0"],
    ["en", "12 50"],
    ["en", "1,000,50"],
    ["en", "1.2.3"],
    ["en", "1 000.000,5"],
    ["en", "-5"],
    ["en", "1e3"],
    ["en", "0x10"],
    ["en", "5€"],
    ["en", "twelve"],
    ["en", "0.0000001"],
    ["en", "99999999999"],
  ])("%s: %s is not guessed", (locale, text) => expect(amountIn(text, locale)).toBe("unreadable"));

  test("what a field or the page shows in any language is read back as the same amount", () => {
    const micro = fc.bigInt({ min: 0n, max: 8_000_000_000_000_000n });
    const locales = Object.keys(CATALOGUES).map((locale) => ({ locale, formats: formatsFor(locale) }));
    fc.assert(
      fc.property(micro, (each) => {
        for (const { locale, formats } of locales) {
          expect(amountIn(amountText(each, locale), locale)).toBe(each);
          const cents = each - (each % 10_000n);
          expect(amountIn(formats.dollars(Number(cents) / 1e6), locale)).toBe(cents);
        }
      }),
      { numRuns: 100, seed: 17 },
    );
    expect(amountIn("  ", "en")).toBe("empty");
  });
});
