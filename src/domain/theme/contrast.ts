import { type Colors, type ColorToken, SCHEMES, type Scheme } from "./tokens.ts";

/** Success criterion 1.4.3 of WCAG 2.2, level AA, for text of any size. */
export const LEAST_CONTRAST = 4.5;

/**
 * The pairs of text and ground colours, foreground first. Styles use no other combinations, so a theme that passes here
 * is readable in the widget.
 */
export const TEXT_PAIRS: readonly (readonly [foreground: ColorToken, ground: ColorToken])[] = [
  ...(["text", "muted", "accent", "yes", "no"] as const).flatMap((token) => [
    [token, "background"] as const,
    [token, "surface"] as const,
  ]),
  ["onAccent", "accent"],
  ["onYes", "yes"],
  ["onNo", "no"],
];

export interface FaintPair {
  foreground: ColorToken;
  ground: ColorToken;
  scheme: Scheme;
  /** Below {@link LEAST_CONTRAST}. */
  ratio: number;
}

/** The colour pairs of a theme with too little contrast for text. */
export function faintPairs(colors: Colors): FaintPair[] {
  return TEXT_PAIRS.flatMap(([foreground, ground]) =>
    SCHEMES.flatMap((scheme) => {
      const ratio = contrastRatio(colors[foreground][scheme], colors[ground][scheme]);
      return ratio < LEAST_CONTRAST ? [{ foreground, ground, scheme, ratio }] : [];
    }),
  );
}

/** A description of a faint pair. The ratio is rounded down, so that it never looks sufficient. */
export function faintText({ foreground, ground, scheme, ratio }: FaintPair): string {
  const found = (Math.floor(ratio * 100) / 100).toFixed(2);
  return `${foreground} on ${ground} in ${scheme} has a contrast of ${found}:1, and needs ${LEAST_CONTRAST}:1`;
}

/**
 * The contrast ratio of two colours, 1 to 21 (https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio).
 * @param one `#rrggbb`, like `other`; their order does not matter
 */
export function contrastRatio(one: string, other: string): number {
  const [first, second] = [relativeLuminance(one), relativeLuminance(other)];
  return (Math.max(first, second) + 0.05) / (Math.min(first, second) + 0.05);
}

/** From 0 (black) to 1 (white) (https://www.w3.org/TR/WCAG22/#dfn-relative-luminance). */
function relativeLuminance(color: string): number {
  const channel = (start: number): number => {
    const share = Number.parseInt(color.slice(start, start + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}
