import { isMapping } from "../json/mapping.ts";
import type { Side } from "../market/pool.ts";
import { PLAIN_LINE } from "../text.ts";
import { faintPairs, faintText } from "./contrast.ts";
import { sideWordFaults } from "./side-words.ts";
import {
  completeTheme,
  MAX_SIDE_WORD,
  mergeColors,
  OVERRIDABLE,
  type SideWords,
  type StatedColors,
  type StatedTheme,
} from "./stated-theme.ts";
import { COLOR, COLOR_TOKENS, type ColorToken, DENSITIES, MAX_FONT_FAMILY, MAX_RADIUS_PX } from "./tokens.ts";

/** No brand has this many parts, or this many names in a part: further ones are ignored. */
const MOST_FIELDS = 50;
/** The longest field name that is reported. */
const LONGEST_FIELD = 60;

/** A part of a brand that is ignored. */
export interface BrandRefusal {
  /** Such as `radius` or `colors.accent`. */
  field: string;
  reason: string;
}

export interface BrandedTheme {
  theme: StatedTheme;
  refused: BrandRefusal[];
}

/**
 * Applies a page's brand on top of the tenant's theme: the parts that the tenant lists as overridable, if they are
 * well-formed and keep text readable. Other parts are ignored.
 * @param brand the page's value, which may be anything
 */
export function applyBrand(theme: StatedTheme, brand: unknown): BrandedTheme {
  if (!isMapping(brand)) return { theme, refused: [{ field: "brand", reason: "must be an object" }] };
  const branded: { -readonly [Part in keyof StatedTheme]: StatedTheme[Part] } = { ...theme };
  const refused: BrandRefusal[] = [];
  for (const [field, value] of fieldsOf(brand, "brand", refused)) {
    if (value === undefined) continue;
    const part = OVERRIDABLE.find((each) => each === field);
    if (part === undefined)
      refused.push({ field: shortened(field), reason: `must be one of ${OVERRIDABLE.join(", ")}` });
    else if (!theme.overridable?.includes(part)) refused.push({ field, reason: "is not in embed.theme.overridable" });
    else if (part === "colors") branded.colors = brandedColors(theme.colors ?? {}, value, refused);
    else if (part === "words") branded.words = brandedWords(theme.words, value, refused);
    else if (part === "font") branded.font = brandedFont(theme, value, refused);
    else if (part === "radius") {
      if (typeof value === "number" && value >= 0 && value <= MAX_RADIUS_PX) branded.radius = value;
      else refused.push({ field, reason: `must be a number from 0 to ${MAX_RADIUS_PX}` });
    } else {
      const density = DENSITIES.find((each) => each === value);
      if (density) branded.density = density;
      else refused.push({ field, reason: `must be one of ${DENSITIES.join(", ")}` });
    }
  }
  return { theme: branded, refused };
}

/** The page's colours on top of the tenant's, without those that would make text hard to read. */
function brandedColors(stated: StatedColors, wanted: unknown, refused: BrandRefusal[]): StatedColors {
  if (!isMapping(wanted)) {
    refused.push({ field: "colors", reason: "must be an object" });
    return stated;
  }
  const kept: StatedColors = {};
  for (const [name, value] of fieldsOf(wanted, "colors", refused)) {
    const token = COLOR_TOKENS.find((each) => each === name);
    const color = colorOf(value);
    if (token && color) kept[token] = color;
    else
      refused.push({
        field: `colors.${shortened(name)}`,
        reason: token ? "must be a colour such as #0b5cad" : `must be one of ${COLOR_TOKENS.join(", ")}`,
      });
  }
  const base = completeTheme({ colors: stated }).colors;
  // One at a time, because removing a colour changes the readability of other pairs.
  for (;;) {
    const [faint] = faintPairs(mergeColors(base, kept)).filter((pair) => kept[pair.foreground] || kept[pair.ground]);
    if (!faint) return { ...stated, ...kept };
    const dropped: ColorToken = kept[faint.foreground] ? faint.foreground : faint.ground;
    delete kept[dropped];
    refused.push({ field: `colors.${dropped}`, reason: faintText(faint) });
  }
}

function colorOf(value: unknown): StatedColors[ColorToken] {
  const isColor = (each: unknown): each is string => typeof each === "string" && COLOR.test(each);
  if (isColor(value)) return value;
  if (!isMapping(value)) return undefined;
  const { light, dark } = value;
  return isColor(light) && isColor(dark) ? { light, dark } : undefined;
}

/** A file is allowed only from the origin of the tenant's own font: the document's policy allows no other. */
function brandedFont({ font }: StatedTheme, wanted: unknown, refused: BrandRefusal[]): StatedTheme["font"] {
  const { family, url } = isMapping(wanted) ? wanted : {};
  const origin = (address: unknown): string | undefined =>
    typeof address === "string" && URL.canParse(address) ? new URL(address).origin : undefined;
  if (!isLine(family, MAX_FONT_FAMILY)) refused.push({ field: "font.family", reason: "must be the name of a font" });
  else if (url !== undefined && (font?.url === undefined || origin(url) !== origin(font.url)))
    refused.push({ field: "font.url", reason: "must have the origin of the tenant's own font" });
  else return { family, ...(url !== undefined && { url: String(url) }) };
  return font;
}

/** The page's words on top of the tenant's, without those that would name the wrong side or none. */
function brandedWords(stated: SideWords = {}, wanted: unknown, refused: BrandRefusal[]): SideWords {
  const entries = isMapping(wanted) ? fieldsOf(wanted, "words", refused) : ([["", undefined]] as const);
  const kept: { [Name in Side]?: NonNullable<SideWords[Name]> } = {};
  for (const [side, value] of entries) {
    const field = side === "" ? "words" : `words.${shortened(side)}`;
    const texts = isMapping(value) ? fieldsOf(value, field, refused).map(([, text]) => text) : [value];
    const isSound = isMapping(value) ? texts.length === Object.keys(value).length : true;
    if ((side === "yes" || side === "no") && isSound && texts.every((text) => isLine(text, MAX_SIDE_WORD)))
      kept[side] = value as string | Record<string, string>;
    else refused.push({ field, reason: `must be a text of at most ${MAX_SIDE_WORD} characters, for yes or no` });
  }
  // Repeated, because removing a word restores the tenant's own.
  for (;;) {
    const faults = sideWordFaults({ ...stated, ...kept }, stated).filter(({ side }) => kept[side] !== undefined);
    if (faults.length === 0) return { ...stated, ...kept };
    for (const { side, reason } of faults) {
      if (kept[side] !== undefined) refused.push({ field: `words.${side}`, reason });
      delete kept[side];
    }
  }
}

/** The first fields of a page's object; an excess is reported once. */
function fieldsOf(part: Record<string, unknown>, field: string, refused: BrandRefusal[]): [string, unknown][] {
  const names = Object.keys(part);
  if (names.length > MOST_FIELDS) refused.push({ field, reason: `must have at most ${MOST_FIELDS} fields` });
  return names.slice(0, MOST_FIELDS).map((name) => [name, part[name]]);
}

function shortened(field: string): string {
  return field.length > LONGEST_FIELD ? `${field.slice(0, LONGEST_FIELD)}…` : field;
}

function isLine(value: unknown, maxLength: number): value is string {
  return typeof value === "string" && value !== "" && value.length <= maxLength && PLAIN_LINE.test(value);
}
