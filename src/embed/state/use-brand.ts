import { useLayoutEffect, useState } from "preact/hooks";
import type { BrandRefusal } from "../../domain/theme/brand.ts";
import type { StatedTheme } from "../../domain/theme/stated-theme.ts";
import type { Bridge } from "../bridge.ts";

/** Tells the document that its tokens have other values now: what paints with them by itself paints again. */
export const LOOKS_CHANGED = "pm-looks";

const NO_THEME: StatedTheme = {};

/**
 * Shows the document in the brand of the page around, as far as the tenant allows, and tells the page what was left out. Most
 * pages have none, so what checks a brand is loaded only for one.
 * @param stated the tenant's theme; the same object for as long as the document lives
 * @param brand as the page sent it, which may be anything; null for the tenant's looks
 * @returns the theme that is shown
 */
export function useBrand(stated: StatedTheme = NO_THEME, brand: unknown, bridge: Bridge): StatedTheme {
  const [shown, setShown] = useState(stated);
  useLayoutEffect(() => {
    if (brand === null) {
      dress("");
      setShown(stated);
      return;
    }
    let isOutdated = false;
    // Without it the widget has the tenant's looks, which are as good.
    import("../branding.ts").then(
      ({ brandingOf }) => {
        if (isOutdated) return;
        const { theme, style, refused } = brandingOf(stated, brand);
        dress(style);
        setShown(theme);
        if (refused.length > 0) bridge.tell("error", { code: "BRAND_REFUSED", message: sentenceOf(refused) });
      },
      () => {},
    );
    return () => {
      isOutdated = true;
    };
  }, [stated, brand]);
  return shown;
}

/** Follows the document's own style in the cascade, so that it replaces its tokens; no policy of styles forbids it. */
let sheet: CSSStyleSheet | undefined;

function dress(style: string): void {
  if (!sheet) {
    if (style === "") return;
    sheet = new CSSStyleSheet();
    document.adoptedStyleSheets.push(sheet);
  }
  sheet.replaceSync(style);
  document.dispatchEvent(new Event(LOOKS_CHANGED));
}

function sentenceOf(refused: readonly BrandRefusal[]): string {
  return refused
    .map(({ field, reason }) => (field === "brand" ? `brand ${reason}` : `brand.${field}: ${reason}`))
    .join("; ");
}
