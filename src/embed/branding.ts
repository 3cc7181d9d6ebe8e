import { applyBrand, type BrandedTheme } from "../domain/theme/brand.ts";
import { completeTheme, type StatedTheme } from "../domain/theme/stated-theme.ts";
import { themeStyle } from "../domain/theme/style.ts";

/** The tenant's theme with a page's brand over it, and the style sheet of that. */
export function brandingOf(stated: StatedTheme, brand: unknown): BrandedTheme & { style: string } {
  const branded = applyBrand(stated, brand);
  return { ...branded, style: themeStyle(completeTheme(branded.theme)) };
}
