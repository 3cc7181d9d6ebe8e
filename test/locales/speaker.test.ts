import { describe, expect, test } from "vitest";
import { CATALOGUES, matchLocale } from "../../src/locales/catalogues.ts";
import type { Message } from "../../src/locales/messages.ts";
import { speakerFor } from "../../src/locales/speaker.ts";

const KNOWN = Object.keys(CATALOGUES);
const texts = (message: Message): string[] => (typeof message === "string" ? [message] : Object.values(message));
const placeholders = (text: string): string[] => [...new Set(text.match(/\{\w+\}/g) ?? [])].sort();

describe("the catalogues", () => {
  test.each(Object.entries(CATALOGUES))("%s has the keys of English, in no other number", (_locale, catalogue) => {
    expect(Object.keys(catalogue)).toEqual(Object.keys(CATALOGUES.en));
  });

  test.each(Object.entries(CATALOGUES))(
    "%s has a form for each plural that its language tells apart",
    (locale, all) => {
      const { pluralCategories } = new Intl.PluralRules(locale).resolvedOptions();
      for (const [key, message] of Object.entries<Message>(all))
        if (typeof message !== "string")
          expect([key, ...Object.keys(message).sort()]).toEqual([key, ...pluralCategories.sort()]);
    },
  );

  test.each(Object.entries(CATALOGUES))("%s fills in what English fills in", (_locale, catalogue) => {
    const english: Record<string, Message> = CATALOGUES.en;
    for (const [key, message] of Object.entries<Message>(catalogue))
      for (const text of texts(message))
        for (const name of placeholders(text))
          expect([key, placeholders(texts(english[key] ?? "").join())]).toEqual([key, expect.arrayContaining([name])]);
  });
});

describe("a speaker", () => {
  test("rounds shares down, in a receipt and in what is held alike", () => {
    const { shares } = speakerFor("en", CATALOGUES.en);
    expect([59.955729, 59.95, 0.29, 1234.5, 10, 0.009].map(shares)).toEqual([
      ...["59.95", "59.95", "0.29", "1,234.5", "10", "0"],
    ]);
  });

  test("chooses the plural form of its language and writes its numbers", () => {
    const left = (locale: keyof typeof CATALOGUES, count: number): string =>
      speakerFor(locale, CATALOGUES[locale]).say("common.daysLeft", { count });
    expect(left("en", 1)).toBe("1 day left");
    expect(left("en", 1135)).toBe("1,135 days left");
    expect(left("de", 1135)).toBe("noch 1.135 Tage");
    expect(left("ar", 2)).toBe("يتبقى يومان");
    expect(left("ja", 1)).toBe("残り1日");
  });

  test("writes a profit with its sign, and a chance that is not certain as neither 0 nor 100", () => {
    const { signed, chance, dollars } = speakerFor("de", CATALOGUES.de);
    expect([signed(68.14), signed(-0.001), dollars(1234.5)]).toEqual([
      "+68,14\u00a0$",
      "0,00\u00a0$",
      "1.234,50\u00a0$",
    ]);
    expect([chance(0.004), chance(0.5), chance(0.9951)]).toEqual(["<1\u00a0%", "50\u00a0%", ">99\u00a0%"]);
  });
});

test("an amount of a thousand and more is short where the language has a short form, and has no part of a dollar elsewhere", () => {
  const volume = (locale: keyof typeof CATALOGUES, usd: number) => speakerFor(locale, CATALOGUES[locale]).volume(usd);
  expect([volume("en", 1234.56), volume("de", 1234.56), volume("de", 999.5), volume("de", 1_234_567)]).toEqual([
    "$1.2K",
    "1.235\u00a0$",
    "999,50\u00a0$",
    "1,2\u00a0Mio.\u00a0$",
  ]);
  expect(volume("ja", 1234.56)).toBe("$1,235");
});

test("an amount is read as a whole, from the left, among words that are read from the right", () => {
  const { dollars, percent } = speakerFor("ar", CATALOGUES.ar);
  expect([dollars(-6.37), percent(0.3)]).toEqual(["\u200e-6.37\u00a0$\u200e", "\u200e30%\u200e"]);
});

test("a reader gets the nearest language: without the region, or with the only one at hand", () => {
  expect(matchLocale(["de-AT"], KNOWN)).toBe("de");
  expect(matchLocale(["pt"], KNOWN)).toBe("pt-BR");
  expect(matchLocale(["PT-br"], KNOWN)).toBe("pt-BR");
  expect(matchLocale(["xx", "ja-JP"], KNOWN)).toBe("ja");
  expect(matchLocale(["tlh"], KNOWN)).toBeUndefined();
});
