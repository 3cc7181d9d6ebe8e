import { COLOR_TOKENS, type Colors, type ColorToken, type Density, type Scheme, type Theme } from "./tokens.ts";

/** The factor of `--pm-density` for gaps and paddings. */
const DENSITY: Record<Density, number> = { comfortable: 1, compact: 0.7 };
/** The fallback for readers who cannot load the theme's font family. */
const FALLBACK = 'system-ui,-apple-system,"Segoe UI",sans-serif';

/**
 * The system colours that replace the theme's colours in forced-colours mode (CSS Color 4, 6.2). The browser repaints
 * boxes and text by itself, but not pictures such as the curve. Words and borders then distinguish the sides.
 */
const FORCED: Record<ColorToken, string> = {
  background: "Canvas",
  surface: "Canvas",
  text: "CanvasText",
  muted: "CanvasText",
  border: "ButtonBorder",
  accent: "LinkText",
  onAccent: "Canvas",
  yes: "CanvasText",
  onYes: "Canvas",
  no: "CanvasText",
  onNo: "Canvas",
};

/**
 * A theme as a style sheet: the custom properties `--pm-<token>` of the root element, by its `data-theme` (`dark`,
 * `light` or `auto`). Print is always light. It uses plain values instead of `light-dark()`, so that browsers of 2023
 * understand them and a canvas can use them.
 */
export function themeStyle({ colors, font, radius, density }: Theme): string {
  const family = font.family === "system-ui" ? FALLBACK : `"${cssText(font.family)}",${FALLBACK}`;
  const dark = schemeStyle(colors, "dark");
  return [
    ...(font.url === undefined ? [] : [fontFace(font.family, font.url)]),
    `:root{--pm-font:${family};--pm-radius:${radius}px;--pm-density:${DENSITY[density]};${schemeStyle(colors, "light")}}`,
    `@media screen{[data-theme=dark]{${dark}}}`,
    `@media screen and (prefers-color-scheme:dark){[data-theme=auto]{${dark}}}`,
    `@media(forced-colors:active){:root{${COLOR_TOKENS.map((token) => `--pm-${token}:${FORCED[token]}`).join(";")}}}`,
  ].join("");
}

function schemeStyle(colors: Colors, scheme: Scheme): string {
  return [...COLOR_TOKENS.map((token) => `--pm-${token}:${colors[token][scheme]}`), `color-scheme:${scheme}`].join(";");
}

/** Text uses a system font until the file has loaded. */
function fontFace(family: string, url: string): string {
  return `@font-face{font-family:"${cssText(family)}";src:url("${cssText(url)}")format("woff2");font-display:swap;font-weight:100 900}`;
}

/** Escapes everything that would end a quoted CSS string or the surrounding style element. */
function cssText(text: string): string {
  return text.replace(/["\\<>\n\r\f]/g, (character) => `\\${character.charCodeAt(0).toString(16)} `);
}
