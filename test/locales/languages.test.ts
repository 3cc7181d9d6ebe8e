import { expect, test } from "vitest";
import { BUILT_IN_SIDES } from "../../src/domain/theme/side-words.ts";
import { CATALOGUES } from "../../src/locales/catalogues.ts";
import { Languages, tagsIn } from "../../src/locales/languages.ts";

test("a reader gets what was asked for, else the tenant's language, else English", () => {
  const languages = new Languages({ locale: "ja" });
  expect(languages.choose(["pt-PT", "de"]).locale).toBe("pt-BR");
  expect(languages.choose(["tlh"]).locale).toBe("ja");
  expect(new Languages({ locale: "tlh" }).choose([]).locale).toBe("en");
});

test("a tenant's own language stands beside the others, and its words for the sides and categories go first", () => {
  const dutch = { ...CATALOGUES.en, "common.back": "Terug" };
  const languages = new Languages({
    messages: { nl: dutch },
    words: { yes: { nl: "Vast", de: "Doch" }, no: "Nope" },
    categories: { fx: { nl: "Valuta", en: "Currencies" }, space: "Space" },
  });
  const { locale, messages, categories } = languages.choose(["nl-BE"]);
  expect([locale, messages["common.back"], messages["common.yes"], messages["common.no"]]).toEqual([
    "nl",
    "Terug",
    "Vast",
    "Nope",
  ]);
  expect(categories).toEqual({ fx: "Valuta", space: "Space" });
  expect(languages.choose(["de"]).messages["common.yes"]).toBe("Doch");
  expect(languages.choose(["fr"]).messages["common.yes"]).toBe("Oui");
  expect(languages.choose(["fr"]).categories).toEqual({ space: "Space" });
});

test("Accept-Language is read by weight, and what is no tag is left out", () => {
  expect(tagsIn("fr;q=0.5, de-CH, en;q=0.8, *;q=0.1, it;q=0")).toEqual(["de-CH", "en", "fr"]);
  expect(tagsIn("<script>, ,;;q=1")).toEqual([]);
  expect(tagsIn(undefined)).toEqual([]);
});

test("the words of the sides that no other side may have are those of the languages that come along", () => {
  for (const side of ["yes", "no"] as const) {
    const words = Object.values(CATALOGUES).map((messages) => messages[`common.${side}`]);
    expect(new Set(BUILT_IN_SIDES[side])).toEqual(new Set(words));
  }
});
