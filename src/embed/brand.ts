import { applyBrand, type BrandRefusal } from "../domain/theme/brand.ts";
import { completeTheme, type StatedTheme } from "../domain/theme/stated-theme.ts";
import { themeStyle } from "../domain/theme/style.ts";

/** Follows the document's own style in the cascade, so that it replaces its tokens; no policy of styles forbids it. */
let sheet: CSSStyleSheet | undefined;

/**
 * Shows the document in the page's brand as far as the tenant allows.
 * @param stated the tenant's theme
 * @param brand as the page sent it; null for the tenant's looks again
 * @returns the theme that is shown now, for words and the like, and what was left out with the reasons
 */
export function applyBrandToDocument(
  stated: StatedTheme,
  brand: unknown,
): { theme: StatedTheme; refused: BrandRefusal[] } {
  const result = brand === null ? { theme: stated, refused: [] } : applyBrand(stated, brand);
  if (!sheet) {
    sheet = new CSSStyleSheet();
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  }
  sheet.replaceSync(result.theme === stated ? "" : themeStyle(completeTheme(result.theme)));
  return result;
}

/** What the page around is told of a brand that was not applied in full, in one sentence. */
export function refusalText(refused: readonly BrandRefusal[]): string {
  return refused.map(({ field, reason }) => `brand.${field}: ${reason}`).join("; ");
}
