/** The colours of a theme. `onX` is the colour of text on colour X. */
export const COLOR_TOKENS = [
  "background",
  "surface",
  "text",
  "muted",
  "border",
  "accent",
  "onAccent",
  "yes",
  "onYes",
  "no",
  "onNo",
] as const;
export type ColorToken = (typeof COLOR_TOKENS)[number];

export const SCHEMES = ["light", "dark"] as const;
export type Scheme = (typeof SCHEMES)[number];

export const COLOR = /^#[0-9a-fA-F]{6}$/;

/** A colour as `#rrggbb`, for each scheme. */
export type SchemeColors = Record<Scheme, string>;
export type Colors = Record<ColorToken, SchemeColors>;

export const MAX_RADIUS_PX = 32;
/** In characters. */
export const MAX_FONT_FAMILY = 100;

export const DENSITIES = ["comfortable", "compact"] as const;
export type Density = (typeof DENSITIES)[number];

export interface Font {
  family: string;
  /** A woff2 file over https. Without it, the reader's system must have the family, or falls back. */
  url?: string | undefined;
}

/** All parts of the widget's look. */
export interface Theme {
  colors: Colors;
  font: Font;
  /** For panels and controls, in CSS pixels. */
  radius: number;
  density: Density;
}

const pair = (light: string, dark: string): SchemeColors => ({ light, dark });

/** The default theme. */
export const BUILT_IN: Theme = {
  colors: {
    background: pair("#ffffff", "#0f1319"),
    surface: pair("#f6f8fa", "#171d26"),
    text: pair("#151a21", "#eef2f6"),
    muted: pair("#55606d", "#9ca8b7"),
    border: pair("#dbe1e8", "#2a3340"),
    accent: pair("#0b5cad", "#74b6ff"),
    onAccent: pair("#ffffff", "#07101b"),
    yes: pair("#08734a", "#3fd39a"),
    onYes: pair("#ffffff", "#07120d"),
    no: pair("#b8232d", "#ff8087"),
    onNo: pair("#ffffff", "#1a0708"),
  },
  font: { family: "system-ui" },
  radius: 8,
  density: "comfortable",
};
