import { PLAIN_LINE } from "../text.ts";
import { faintPairs, faintText } from "./contrast.ts";
import {
  completeTheme,
  MAX_SIDE_WORD,
  mergeColors,
  OVERRIDABLE,
  type StatedColors,
  type StatedTheme,
} from "./stated-theme.ts";
import { COLOR, COLOR_TOKENS, type ColorToken, DENSITIES, MAX_FONT_FAMILY, MAX_RADIUS_PX } from "./tokens.ts";

/** A part of a brand that is left out. */
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
 * Lays what a page wants over the tenant's theme: of the parts that the tenant lists as overridable, those that are well
 * formed and keep text readable. The rest is left out.
 * @param brand as the page sent it, which may be anything
 */
export function applyBrand(theme: StatedTheme, brand: unknown): BrandedTheme {
  if (!isRecord(brand)) return { theme, refused: [{ field: "brand", reason: "must be an object" }] };
  const branded: { -readonly [Part in keyof StatedTheme]: StatedTheme[Part] } = { ...theme };
  const refused: BrandRefusal[] = [];
  for (const [field, value] of Object.entries(brand)) {
    if (value === undefined) continue;
    const part = OVERRIDABLE.find((each) => each === field);
    if (part === undefined) refused.push({ field, reason: "is nothing that a page may set" });
    else if (!theme.overridable?.includes(part)) refused.push({ field, reason: "is not in embed.theme.overridable" });
    else if (part === "colors") branded.colors = brandedColors(theme.colors ?? {}, value, refused);
    else if (part === "words") branded.words = { ...theme.words, ...brandedWords(value, refused) };
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

/** The page's colours over the tenant's, without those that would make text hard to read. */
function brandedColors(stated: StatedColors, wanted: unknown, refused: BrandRefusal[]): StatedColors {
  if (!isRecord(wanted)) {
    refused.push({ field: "colors", reason: "must be an object" });
    return stated;
  }
  const kept: StatedColors = {};
  for (const [name, value] of Object.entries(wanted)) {
    const token = COLOR_TOKENS.find((each) => each === name);
    const color = colorOf(value);
    if (token && color) kept[token] = color;
    else
      refused.push({
        field: `colors.${name}`,
        reason: token ? "must be a colour such as #0b5cad" : "is no colour's name",
      });
  }
  const base = completeTheme({ colors: stated }).colors;
  // One at a time, because without it other pairs may be readable or not.
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
  if (!isRecord(value)) return undefined;
  const { light, dark } = value;
  return isColor(light) && isColor(dark) ? { light, dark } : undefined;
}

/** A file only from where the tenant's own comes: the document's policy allows no other origin. */
function brandedFont({ font }: StatedTheme, wanted: unknown, refused: BrandRefusal[]): StatedTheme["font"] {
  const { family, url } = isRecord(wanted) ? wanted : {};
  const origin = (address: unknown): string | undefined =>
    typeof address === "string" && URL.canParse(address) ? new URL(address).origin : undefined;
  if (!isLine(family, MAX_FONT_FAMILY)) refused.push({ field: "font.family", reason: "must be the name of a font" });
  else if (url !== undefined && (font?.url === undefined || origin(url) !== origin(font.url)))
    refused.push({ field: "font.url", reason: "must have the origin of the tenant's own font" });
  else return { family, ...(url !== undefined && { url: String(url) }) };
  return font;
}

function brandedWords(wanted: unknown, refused: BrandRefusal[]): NonNullable<StatedTheme["words"]> {
  const entries = Object.entries(isRecord(wanted) ? wanted : { "": undefined });
  const sound = entries.filter(([side, value]) => {
    const texts = isRecord(value) ? Object.values(value) : [value];
    const isSound = (side === "yes" || side === "no") && texts.every((text) => isLine(text, MAX_SIDE_WORD));
    const field = side === "" ? "words" : `words.${side}`;
    if (!isSound)
      refused.push({ field, reason: `must be a text of at most ${MAX_SIDE_WORD} characters, for yes or no` });
    return isSound;
  });
  return Object.fromEntries(sound);
}

function isLine(value: unknown, maxLength: number): value is string {
  return typeof value === "string" && value !== "" && value.length <= maxLength && PLAIN_LINE.test(value);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
