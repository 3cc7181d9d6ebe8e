import { describe, expect, test } from "vitest";
import { applyBrand } from "../../src/domain/theme/brand.ts";
import { faintPairs } from "../../src/domain/theme/contrast.ts";
import { completeTheme, OVERRIDABLE, type StatedTheme, themeSources } from "../../src/domain/theme/stated-theme.ts";

const TENANT: StatedTheme = {
  colors: { accent: { light: "#7a1fa2", dark: "#d7a6ee" } },
  font: { family: "Acme Sans", url: "https://cdn.acme.example/sans.woff2" },
  overridable: OVERRIDABLE,
};
const fieldsOf = (theme: StatedTheme, brand: unknown) =>
  applyBrand(theme, brand).refused.map(({ field, reason }) => `${field}: ${reason}`);

describe("a page's brand", () => {
  test("sets what the tenant lists, over the tenant's own theme", () => {
    const font = { family: "Acme Serif", url: "https://cdn.acme.example/serif.woff2" };
    const brand = { colors: { yes: { light: "#1b5e20", dark: "#a5d6a7" } }, font, radius: 0, density: "compact" };
    const words = { yes: { en: "Agree" } };
    expect(applyBrand(TENANT, { ...brand, words })).toEqual({
      theme: { ...TENANT, ...brand, words, colors: { ...TENANT.colors, ...brand.colors } },
      refused: [],
    });
  });

  test("sets nothing that the tenant does not list, nor what no page may set", () => {
    const { theme, refused } = applyBrand({ overridable: ["radius"] }, { radius: 4, density: "compact", logo: {} });
    expect(theme).toEqual({ overridable: ["radius"], radius: 4 });
    expect(refused).toEqual([
      { field: "density", reason: "is not in embed.theme.overridable" },
      { field: "logo", reason: "is not a field of a brand" },
    ]);
    expect(fieldsOf({}, { radius: 4 })).toEqual(["radius: is not in embed.theme.overridable"]);
  });

  test("leaves out a colour that would make text hard to read, and keeps the others", () => {
    const wanted = { yes: { light: "#9be7c4", dark: "#9be7c4" }, no: { light: "#8e1b1b", dark: "#ffab91" } };
    const { theme, refused } = applyBrand(TENANT, { colors: wanted });
    expect(theme.colors).toEqual({ ...TENANT.colors, no: wanted.no });
    expect(refused).toEqual([
      { field: "colors.yes", reason: expect.stringMatching(/^yes on background in light has a contrast of 1\.\d\d:1/) },
    ]);
  });

  test("leaves out a ground on which the tenant's text cannot be read, and then what was readable on it alone", () => {
    const { theme, refused } = applyBrand(TENANT, { colors: { background: "#ffffff", text: "#000000" } });
    expect(theme.colors).toEqual(TENANT.colors);
    expect(refused.map(({ field }) => field).toSorted()).toEqual(["colors.background", "colors.text"]);
    expect(faintPairs(completeTheme(theme).colors)).toEqual([]);
  });

  test.each([
    ["swapped", { yes: "No", no: "Yes" }, ["yes", "no"]],
    ["equal", { yes: "Maybe", no: " mAYBE\u200b" }, ["yes", "no"]],
    ["invisible", { yes: "\u200b", no: " \u2800\u3164" }, ["yes", "no"]],
    ["the other side's in another language", { yes: { de: "Klar", fr: "Ne\u200bin!" } }, ["yes"]],
    ["the tenant's own, swapped", { yes: "Down", no: "Up" }, ["yes", "no"]],
    ["the tenant's own, for both", { no: "up" }, ["no"]],
    ["those that were there", { yes: "Up", no: "Lower" }, []],
  ])("sets no words of a side that name the other or none: %s", (_what, words, sides) => {
    const tenant = { ...TENANT, words: { yes: "Up", no: { en: "Down" } } };
    const { theme, refused } = applyBrand(tenant, { words });
    expect(refused.map(({ field }) => field)).toEqual(sides.map((side) => `words.${side}`));
    expect(theme.words).toEqual(sides.length === 0 ? words : tenant.words);
  });

  test("is looked at no further than anyone would write", () => {
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => ["x".repeat(500) + index, "x"]));
    for (const brand of [many, { colors: many }, { words: many }, { words: { yes: many } }]) {
      const { refused } = applyBrand(TENANT, brand);
      expect(refused.length).toBeLessThanOrEqual(51);
      expect(refused[0]?.reason).toBe("must have at most 50 fields");
      for (const { field } of refused) expect(field.length).toBeLessThan(100);
    }
  });

  test.each([
    ["a text", null, ["brand: must be an object"]],
    ["no colours", { colors: "red" }, ["colors: must be an object"]],
    ["a colour by name", { colors: { accent: "red" } }, ["colors.accent: must be a colour such as #0b5cad"]],
    ["half a pair", { colors: { accent: { light: "#0b5cad" } } }, ["colors.accent: must be a colour such as #0b5cad"]],
    ["an unknown token", { colors: { acent: "#0b5cad" } }, ["colors.acent: is not the name of a colour"]],
    [
      "another font's origin",
      { font: { family: "A", url: "https://x.example/a.woff2" } },
      ["font.url: must have the origin of the tenant's own font"],
    ],
    ["a font without a name", { font: {} }, ["font.family: must be the name of a font"]],
    ["a large radius", { radius: 33 }, ["radius: must be a number from 0 to 32"]],
    ["a radius that is none", { radius: Number.NaN }, ["radius: must be a number from 0 to 32"]],
    ["an unknown density", { density: "dense" }, ["density: must be one of comfortable, compact"]],
    [
      "a long word",
      { words: { yes: "x".repeat(21) } },
      ["words.yes: must be a text of at most 20 characters, for yes or no"],
    ],
    [
      "a word of no side",
      { words: { maybe: "x" } },
      ["words.maybe: must be a text of at most 20 characters, for yes or no"],
    ],
    ["no words", { words: 1 }, ["words: must be a text of at most 20 characters, for yes or no"]],
  ])("is left out where it is malformed: %s", (_what, brand, said) => {
    expect(fieldsOf(TENANT, brand)).toEqual(said);
    expect(applyBrand(TENANT, brand).theme).toEqual({ ...TENANT, ...("words" in (brand ?? {}) && { words: {} }) });
  });
});

test("a document of a theme loads fonts and images from its origins, and from no other", () => {
  expect(themeSources()).toEqual({ fontSrc: [], imgSrc: [] });
  expect(themeSources({ ...TENANT, logo: { url: "https://img.acme.example/a/l.svg?x=;", alt: "Acme" } })).toEqual({
    fontSrc: ["https://cdn.acme.example"],
    imgSrc: ["https://img.acme.example"],
  });
});
