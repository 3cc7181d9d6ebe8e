import {
  BUILT_IN,
  COLOR_TOKENS,
  type Colors,
  type ColorToken,
  type Density,
  type Font,
  type SchemeColors,
  type Theme,
} from "./tokens.ts";

/** The parts of the theme that a page may set, if the tenant lists them. */
export const OVERRIDABLE = ["colors", "font", "radius", "density", "words"] as const;
export type Overridable = (typeof OVERRIDABLE)[number];

/** One colour for both schemes, or one for each. */
export type StatedColors = { [Token in ColorToken]?: string | SchemeColors | undefined };

export interface Logo {
  url: string;
  /** For readers who cannot see it. */
  alt: string;
  /** The link target. */
  href?: string | undefined;
}

/** The longest name of a side, so that two fit a narrow column. */
export const MAX_SIDE_WORD = 20;

/** The names of the two sides: one for all languages, or by BCP 47 tag. */
export type SideWords = { [Side in "yes" | "no"]?: string | Record<string, string> | undefined };

/** A theme as the tenant file states it; omitted parts use the built-in theme. */
export interface StatedTheme {
  colors?: StatedColors | undefined;
  font?: Font | undefined;
  /** CSS pixels. */
  radius?: number | undefined;
  density?: Density | undefined;
  logo?: Logo | undefined;
  words?: SideWords | undefined;
  overridable?: readonly Overridable[] | undefined;
}

/** The stated theme, completed by the built-in one. */
export function completeTheme({ colors = {}, font, radius, density }: StatedTheme = {}): Theme {
  return {
    colors: mergeColors(BUILT_IN.colors, colors),
    font: font ?? BUILT_IN.font,
    radius: radius ?? BUILT_IN.radius,
    density: density ?? BUILT_IN.density,
  };
}

export function mergeColors(base: Colors, stated: StatedColors): Colors {
  const merged = COLOR_TOKENS.map((token) => {
    const color = stated[token] ?? base[token];
    return [token, typeof color === "string" ? { light: color, dark: color } : color];
  });
  return Object.fromEntries(merged);
}

/** The further origins from which a themed document loads: for `font-src` and `img-src` of its policy. */
export function themeSources({ font, logo }: StatedTheme = {}): { fontSrc: string[]; imgSrc: string[] } {
  const origin = (url: string | undefined): string[] => (url === undefined ? [] : [new URL(url).origin]);
  return { fontSrc: origin(font?.url), imgSrc: origin(logo?.url) };
}
