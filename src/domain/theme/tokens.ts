/** The colours that a theme names. `onX` is the colour of text on a face of colour X. */
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
/** Characters. */
export const MAX_FONT_FAMILY = 100;

export const DENSITIES = ["comfortable", "compact"] as const;
export type Density = (typeof DENSITIES)[number];

export interface Font {
  family: string;
  /** A woff2 file, by https; without one the reader's system has the family, or falls back. */
  url?: string | undefined;
}

/** Everything that the widget's looks are made of. */
export interface Theme {
  colors: Colors;
  font: Font;
  /** Of panels and controls, CSS pixels. */
  radius: number;
  density: Density;
}

const pair = (light: string, dark: string): SchemeColors => ({ light, dark });

/** The theme of a tenant that states none. */
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
