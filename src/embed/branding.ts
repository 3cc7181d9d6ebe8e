import { applyBrand, type BrandRefusal } from "../domain/theme/brand.ts";
import { completeTheme, type StatedTheme } from "../domain/theme/stated-theme.ts";
import { themeStyle } from "../domain/theme/style.ts";

/** A page's brand as a frame shows it. */
interface Branding {
  theme: StatedTheme;
  /** The style sheet of the theme. */
  style: string;
  /** What was left out of the brand and why; empty if nothing was. */
  leftOut: string;
}

/** Characters of a message; the page around may show or log it. */
const LONGEST_MESSAGE = 1000;

/** The tenant's theme with a page's brand over it. */
export function brandingOf(stated: StatedTheme, brand: unknown): Branding {
  const { theme, refused } = applyBrand(stated, brand);
  return { theme, style: themeStyle(completeTheme(theme)), leftOut: sentenceOf(refused) };
}

function sentenceOf(refused: readonly BrandRefusal[]): string {
  const whole = refused
    .map(({ field, reason }) => (field === "brand" ? `brand ${reason}` : `brand.${field}: ${reason}`))
    .join("; ");
  return whole.length > LONGEST_MESSAGE ? `${whole.slice(0, LONGEST_MESSAGE)}…` : whole;
}
