import { describe, expect, test } from "vitest";
import { documentOf } from "../../src/plan/plan-document.ts";
import { complaints, parse, problemsOf, tenantText } from "./support.ts";

const theme = (text: string) => ({ embed: `{ theme: ${text} }` });
const documentFor = (sections: Record<string, string>) =>
  documentOf(parse(tenantText(sections)), [], []) as Record<string, unknown>;

describe("the looks of the widget", () => {
  test("are built in, unless the file states them", () => {
    const { embed, pages } = parse(tenantText());
    expect([embed, pages]).toEqual([
      {
        allowedOrigins: [],
        theme: {
          ...{ colors: {}, font: { family: "system-ui" }, radius: 8, density: "comfortable" },
          ...{ words: {}, overridable: [] },
        },
        ...{ warnImpact: 0.05, locale: "en", messages: {}, categories: {} },
      },
      { robots: "index" },
    ]);
  });

  test("are shown on hosts by name or address, with a port", () => {
    const origins = [
      "https://a-b.example",
      "http://localhost:3000",
      "http://[::1]:8080",
      "https://xn--bcher-kva.example",
    ];
    expect(parse(tenantText({ embed: JSON.stringify({ allowedOrigins: origins }) })).embed.allowedOrigins).toEqual(
      origins,
    );
  });

  test("are read as the file states them", () => {
    const embed = `
  locale: pt-BR
  warnImpact: 0.1
  messages: { nl: words/nl.json }
  categories: { crypto: Coins, fx: { en: Currencies, de: Währungen } }
  theme:
    colors: { accent: { light: "#0B5CAD", dark: "#74b6ff" }, surface: { light: "#ffffff", dark: "#000000" } }
    font: { family: Inter, url: "https://cdn.acme.example/inter.woff2?v=2" }
    radius: 0
    density: compact
    logo: { url: "https://cdn.acme.example/logo.svg", alt: Acme, href: "https://acme.example/" }
    words: { yes: Agree, no: { en: Disagree, de: Dagegen } }
    overridable: [words, colors]`;
    const text = tenantText({ embed, pages: "{ robots: noindex }" });
    const { embed: read, pages } = parse(text);
    expect(read).toMatchObject({
      ...{ locale: "pt-BR", warnImpact: 0.1, messages: { nl: "words/nl.json" } },
      categories: { crypto: "Coins", fx: { de: "Währungen" } },
      theme: {
        colors: { accent: { light: "#0B5CAD", dark: "#74b6ff" }, surface: { light: "#ffffff", dark: "#000000" } },
        font: { url: "https://cdn.acme.example/inter.woff2?v=2" },
        ...{ radius: 0, density: "compact", logo: { alt: "Acme" }, words: { no: { de: "Dagegen" } } },
        overridable: ["words", "colors"],
      },
    });
    expect(pages).toEqual({ robots: "noindex" });
  });

  test.each([
    [
      { embed: "\n  theme:\n    colors:\n      accent: #0b5cad" },
      "embed.theme.colors.accent: must be a colour in quotes",
    ],
    [
      theme('{ colors: { accent: "#fff" } }'),
      'embed.theme.colors.accent: must be a colour in quotes such as "#0b5cad"',
    ],
    [theme('{ colors: { accent: { light: "#0b5cad" } } }'), "embed.theme.colors.accent.dark: is required"],
    [theme('{ colors: { acent: "#0b5cad" } }'), 'embed.theme.colors.acent: unknown key; did you mean "accent"?'],
    [
      theme("{ font: { family: A, url: 'http://a.example/a.woff2' } }"),
      "embed.theme.font.url: must begin with https://",
    ],
    [
      theme("{ font: { family: A, url: 'https://a.example/a.ttf' } }"),
      "embed.theme.font.url: must be the address of a .woff2",
    ],
    [theme("{ radius: 33 }"), "embed.theme.radius: must be at most 32"],
    [theme("{ density: dense }"), "embed.theme.density: must be one of comfortable, compact"],
    [theme("{ logo: { url: 'https://a.example/l.png' } }"), "embed.theme.logo.alt: is required"],
    [theme("{ words: { yes: 'a name of over twenty' } }"), "embed.theme.words.yes: must have at most 20 characters"],
    [theme("{ words: { yes: 'No' } }"), "embed.theme.words.yes: must not be a word of the other side, no"],
    [theme("{ words: { no: { de: 'ja ' } } }"), "embed.theme.words.no.de: must not be a word of the other side, yes"],
    [theme('{ words: { yes: "\\u200b" } }'), "embed.theme.words.yes: must not be blank"],
    [
      theme("{ logo: { url: 'https://l.example;frame-ancestors/x.png', alt: A } }"),
      "embed.theme.logo.url: must have a host such as cdn.acme.example",
    ],
    ...["https://a;script-src", "https://a,b", "https://'unsafe-inline'", "https://*", "https://*.a.example"].map(
      (origin): [Record<string, string>, string] => [
        { embed: `{ allowedOrigins: ["${origin}"] }` },
        "embed.allowedOrigins[0]: must be an origin such as https://www.acme.example",
      ],
    ),
    [
      theme("{ overridable: [logo] }"),
      "embed.theme.overridable[0]: must be one of colors, font, radius, density, words",
    ],
    [{ embed: "{ locale: 'e' }" }, "embed.locale: must be a language tag such as en, pt-BR or zh-Hant"],
    [{ embed: "{ messages: { 'de_AT': a.json } }" }, "embed.messages.de_AT: must be a language tag"],
    [{ embed: "{ categories: { crypto: { e: Coins } } }" }, "embed.categories.crypto.e: must be a language tag"],
    [{ embed: "{ warnImpact: 5 }" }, "embed.warnImpact: must be at most 1"],
    [{ pages: "{ robots: none }" }, "pages.robots: must be one of index, noindex"],
  ])("are refused where they cannot be used: %j", (sections, complaint) => {
    expect(complaints(sections)).toEqual([expect.stringContaining(complaint)]);
  });
});

describe("text that does not stand out", () => {
  test("is found at the tenant's own colour, with both tokens, the scheme and both ratios", () => {
    const text = tenantText({
      embed: `
  theme:
    colors:
      accent: { light: "#0b5cad", dark: "#0b5cad" }
      surface: "#808080"
      text: "#888888"`,
    });
    const found = problemsOf(text).map(({ line, column, path, message, code }) => ({
      place: `${line}:${column}`,
      message: `${path.split(".").slice(3).join(".")}: ${message}`,
      code,
    }));
    expect(new Set(found.map(({ code }) => code))).toEqual(new Set(["LOW_CONTRAST"]));
    const at = (place: string) => found.filter((each) => each.place === place).map(({ message }) => message);
    // The foreground where both are the tenant's, and each scheme at a place of its own where the file has two.
    expect(at("10:41")).toEqual([
      "accent.dark: accent on background in dark has a contrast of 2.79:1, and needs 4.5:1",
      "accent.dark: accent on surface in dark has a contrast of 1.68:1, and needs 4.5:1",
      "accent.dark: onAccent on accent in dark has a contrast of 2.86:1, and needs 4.5:1",
    ]);
    expect(at("12:13")).toContainEqual("text: text on surface in light has a contrast of 1.11:1, and needs 4.5:1");
    expect(at("11:16")).toContainEqual("surface: muted on surface in dark has a contrast of 1.63:1, and needs 4.5:1");
  });

  test("is no matter of the built-in theme, nor of colours that stand out", () => {
    expect(() => parse(tenantText(theme("{}")))).not.toThrow();
    const colors = '{ accent: { light: "#7a1fa2", dark: "#d7a6ee" }, onAccent: { light: "#ffffff", dark: "#000000" } }';
    expect(() => parse(tenantText(theme(`{ colors: ${colors} }`)))).not.toThrow();
  });
});

test("an applied document names looks only where the file states other than the usual ones", () => {
  const { embed, pages } = documentFor({});
  expect([embed, pages]).toEqual([{ allowedOrigins: [] }, undefined]);
  const usual = { embed: "{ locale: en, warnImpact: 0.05, theme: { radius: 8 } }", pages: "{ robots: index }" };
  expect(documentFor(usual)).toEqual(documentFor({}));
  expect(documentFor({ embed: "{ theme: { overridable: [words, colors] } }" })).toEqual(
    documentFor({ embed: "{ theme: { overridable: [colors, words] } }" }),
  );
  expect(documentFor({ embed: "{ locale: de }" }).embed).toEqual({ allowedOrigins: [], locale: "de" });
});
