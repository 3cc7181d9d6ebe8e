import { COLOR_TOKENS, type Colors, type ColorToken, type Density, type Scheme, type Theme } from "./tokens.ts";

/** What `--pm-density` multiplies gaps and paddings by. */
const DENSITY: Record<Density, number> = { comfortable: 1, compact: 0.7 };
/** Behind the theme's family, for readers who cannot load it. */
const FALLBACK = 'system-ui,-apple-system,"Segoe UI",sans-serif';

/**
 * What a reader's own colours take the place of (CSS Color 4, 6.2). Boxes and words are repainted by the browser anyway,
 * pictures such as the curve are not. The sides are told apart by words and borders then.
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
 * A theme as a style sheet: the custom properties `--pm-<token>` of the root element, by its `data-theme` (`dark`, `light` or
 * `auto`). Paper is light in each of them. Plain values and not `light-dark()`, so that browsers of 2023 know them and a
 * canvas can paint with them.
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

/** Words are shown in a font of the system until the file has arrived. */
function fontFace(family: string, url: string): string {
  return `@font-face{font-family:"${cssText(family)}";src:url("${cssText(url)}")format("woff2");font-display:swap;font-weight:100 900}`;
}

/** Escapes what would end a quoted string of CSS, or the element around the style. */
function cssText(text: string): string {
  return text.replace(/["\\<>\n\r\f]/g, (character) => `\\${character.charCodeAt(0).toString(16)} `);
}
