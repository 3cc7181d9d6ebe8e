import type { BrowserContextOptions } from "playwright-core";
import type { HostOptions } from "../support/stage.ts";

/** How a scene is looked at, beyond dark and light. */
export interface Look {
  name: string;
  host?: HostOptions;
  context?: BrowserContextOptions;
  media?: { forcedColors?: "active"; media?: "print"; colorScheme?: "dark" | "light" };
}

const HEIGHT = 900;
const width = (px: number): Look => ({ name: `${px}px`, context: { viewport: { width: px + 16, height: HEIGHT } } });
/** What a zoom leaves of a window that is 1280 px wide: fewer pixels of CSS, each larger. */
const zoom = (factor: number): Look => ({
  name: `zoom-${factor * 100}`,
  context: { viewport: { width: 1280 / factor, height: Math.round(1024 / factor) }, deviceScaleFactor: factor },
});

export const DARK: Look = { name: "dark", media: { colorScheme: "dark" } };
export const LIGHT: Look = { name: "light", media: { colorScheme: "light" } };

export const BRAND = {
  colors: {
    background: { light: "#fff8ec", dark: "#1d1410" },
    surface: { light: "#fdeed6", dark: "#2a1d17" },
    accent: { light: "#8a3b12", dark: "#ffb27d" },
    onAccent: { light: "#ffffff", dark: "#1d1410" },
  },
  font: { family: "Georgia" },
  radius: 20,
  density: "compact",
  words: { yes: "Agree", no: "Disagree" },
} as const;

export const LOOKS: readonly Look[] = [
  { name: "brand-light", host: { brand: BRAND } },
  { name: "brand-dark", host: { brand: BRAND }, media: { colorScheme: "dark" } },
  { name: "forced-dark", media: { forcedColors: "active", colorScheme: "dark" } },
  { name: "forced-light", media: { forcedColors: "active", colorScheme: "light" } },
  { name: "ar", host: { locale: "ar" } },
  { name: "ja", host: { locale: "ja" } },
  { name: "de", host: { locale: "de" } },
  ...[200, 320, 375, 700].map(width),
  ...[2, 4].map(zoom),
  { name: "print", media: { media: "print" } },
];
