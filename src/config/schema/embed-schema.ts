import { z } from "zod";
import { CategorySlug, httpUrl, line, text } from "../../contract/scalars.ts";
import { isLanguageTag } from "../../domain/text.ts";
import { MAX_SIDE_WORD, OVERRIDABLE } from "../../domain/theme/stated-theme.ts";
import { COLOR, COLOR_TOKENS, DENSITIES, MAX_FONT_FAMILY, MAX_RADIUS_PX } from "../../domain/theme/tokens.ts";
import { hasPlainHost, listOf, Origin } from "./scalars.ts";

const MOST_ENTRIES = 100;

const Locale = z
  .string()
  .max(35)
  .refine(isLanguageTag, "must be a language tag such as en, pt-BR or zh-Hant")
  .meta({ examples: ["en"] });

/** One text for all languages, or one for each, by tag. */
const localised = (maxLength: number) =>
  z.union([line(maxLength), z.record(Locale, line(maxLength))], {
    error: `must be a text of at most ${maxLength} characters, or one for each language such as { en: Yes, de: Ja }`,
  });

/** YAML reads text after an unquoted # as a comment. */
const COLOR_HINT = 'must be a colour in quotes such as "#0b5cad"';
const Color = z.string().regex(COLOR, COLOR_HINT);
const ThemeColor = z.union(
  [
    Color,
    z.strictObject({
      light: Color.describe("The colour on light pages."),
      dark: Color.describe("The colour on dark pages."),
    }),
  ],
  { error: `${COLOR_HINT}, or one for each scheme as { light: "#…", dark: "#…" }` },
);

const COLOR_USES: Record<(typeof COLOR_TOKENS)[number], string> = {
  background: "Background of the widget and of controls.",
  surface: "Background of panels and cards.",
  text: "Words.",
  muted: "Secondary text.",
  border: "Lines around panels and controls.",
  accent: "Links, the focus ring, the selection.",
  onAccent: "Text on the accent colour.",
  yes: "The side Yes, and gains.",
  onYes: "Text on the colour of Yes.",
  no: "The side No, and losses.",
  onNo: "Text on the colour of No.",
};
const Colors = z.strictObject(
  Object.fromEntries(COLOR_TOKENS.map((token) => [token, ThemeColor.optional().describe(COLOR_USES[token])])) as Record<
    (typeof COLOR_TOKENS)[number],
    z.ZodOptional<typeof ThemeColor>
  >,
);

/** Browsers load everything over TLS. */
const BrowserUrl = httpUrl(2048)
  .regex(/^https:/, { message: "must begin with https://", abort: true })
  .refine((url) => URL.canParse(url) && hasPlainHost(url), "must have a host such as cdn.acme.example");

const Font = z.strictObject({
  family: line(MAX_FONT_FAMILY).describe("A font family of the reader's system, or that of the file at url."),
  url: BrowserUrl.refine((url) => /\.woff2$/i.test(new URL(url).pathname), "must be the address of a .woff2 file")
    .optional()
    .meta({
      description: "Address of the font's file (woff2), which readers' browsers load.",
      examples: ["https://cdn.acme.example/acme.woff2"],
    }),
});

const Logo = z.strictObject({
  url: BrowserUrl.meta({
    description: "Address of the image, which readers' browsers load.",
    examples: ["https://cdn.acme.example/logo.svg"],
  }),
  alt: line(200).describe("Alternative text of the image."),
  href: BrowserUrl.optional().describe("Link of the image, opened in a new tab."),
});

const SideWord = localised(MAX_SIDE_WORD).optional();

const Theme = z.strictObject({
  colors: Colors.default({}).describe("Colours, one for both schemes or one each; text needs a contrast of 4.5:1."),
  font: Font.default({ family: "system-ui" }).describe("The font of all text."),
  radius: z.number().min(0).max(MAX_RADIUS_PX).default(8).describe("Radius of corners in pixels."),
  density: z.enum(DENSITIES).default("comfortable").describe("Spacing of the contents."),
  logo: Logo.optional().describe("An image in each widget."),
  words: z
    .strictObject({
      yes: SideWord.describe("The name of the side Yes; one text, or one for each language."),
      no: SideWord.describe("The name of the side No; one text, or one for each language."),
    })
    .default({})
    .describe("Names of the sides; the default is those of the language."),
  overridable: listOf(z.enum(OVERRIDABLE), OVERRIDABLE.length).meta({
    description: `The parts that a page may set with the option brand: ${OVERRIDABLE.join(", ")}.`,
    examples: [["colors", "words"]],
  }),
});

/** The contents and audience of the widget. Only servers read this section, when they start. */
export const EmbedSection = z.strictObject({
  allowedOrigins: listOf(Origin, 200).meta({
    description: "Origins that may show the widget and trade. Empty: any origin may show it, read-only.",
    examples: [["https://news.example"]],
  }),
  theme: Theme.prefault({}).describe("The widget's theme."),
  warnImpact: z
    .number()
    .min(0)
    .max(1)
    .default(0.05)
    .describe("Price change from which the widget warns the trader, such as 0.05."),
  locale: Locale.default("en").describe("The language if the page states none."),
  messages: z
    .record(Locale, text(1024))
    .refine(isShort, `must name at most ${MOST_ENTRIES} languages`)
    .default({})
    .describe("JSON files with the texts of a language, by language tag, relative to the tenant's folder."),
  categories: z
    .record(CategorySlug, localised(60))
    .refine(isShort, `must name at most ${MOST_ENTRIES} categories`)
    .default({})
    .describe("Display names of categories, also by language."),
});

export const PagesSection = z.strictObject({
  robots: z.enum(["index", "noindex"]).default("index").describe("Whether search engines may list the market pages."),
});

function isShort(record: Record<string, unknown>): boolean {
  return Object.keys(record).length <= MOST_ENTRIES;
}
