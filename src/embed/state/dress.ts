import { applyBrand, type BrandRefusal } from "../../domain/theme/brand.ts";
import { completeTheme, type StatedTheme } from "../../domain/theme/stated-theme.ts";
import { themeStyle } from "../../domain/theme/style.ts";

/** A page's brand as the frame wears it. */
export interface Dress {
  theme: StatedTheme;
  /** The theme's tokens. */
  style: string;
  /** What was left out of the brand, and why; empty for nothing. */
  refusal: string;
}

/** @param brand as the page sent it, which may be anything */
export function dressFor(stated: StatedTheme, brand: unknown): Dress {
  const { theme, refused } = applyBrand(stated, brand);
  return { theme, style: themeStyle(completeTheme(theme)), refusal: sentenceOf(refused) };
}

function sentenceOf(refused: readonly BrandRefusal[]): string {
  return refused
    .map(({ field, reason }) => (field === "brand" ? `brand ${reason}` : `brand.${field}: ${reason}`))
    .join("; ");
}
