import { useLayoutEffect, useState } from "preact/hooks";
import type { StatedTheme } from "../../domain/theme/stated-theme.ts";
import type { Branding } from "../branding.ts";
import type { Bridge } from "../bridge.ts";

/** Announces new values of the tokens: a canvas that paints with them paints again. */
export const LOOKS_CHANGED = "pm-looks";

const NO_THEME: StatedTheme = {};

/**
 * Shows the document in the brand of the page around, as far as the tenant allows, and tells the page what was left out. Most
 * pages have no brand, so the part that checks one is loaded only then.
 * @param stated the tenant's theme; the same object for as long as the document lives
 * @param brand as the page sent it, which may be anything; null for the tenant's looks
 * @returns undefined for the tenant's look, whose names of the sides the messages already have
 */
export function useBrand(stated: StatedTheme = NO_THEME, brand: unknown, bridge: Bridge): Branding | undefined {
  const [shown, setShown] = useState<Branding>();
  useLayoutEffect(() => {
    if (brand === null) {
      dress("");
      setShown(undefined);
      return;
    }
    let isOutdated = false;
    // Without that part the widget keeps the tenant's look.
    import("../branding.ts").then(
      ({ brandingOf }) => {
        if (isOutdated) return;
        const branding = brandingOf(stated, brand);
        const { style, leftOut } = branding;
        dress(style);
        setShown(branding);
        if (leftOut) bridge.tell("error", { code: "BRAND_REFUSED", message: leftOut });
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
