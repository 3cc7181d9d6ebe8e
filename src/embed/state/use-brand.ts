import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import type { StatedTheme } from "../../domain/theme/stated-theme.ts";
import type { Bridge } from "../bridge.ts";
import type { Dress } from "./dress.ts";

/** Tells the document that its tokens have other values now: what paints with them by itself paints again. */
export const LOOKS_CHANGED = "pm-looks";

const NO_THEME: StatedTheme = {};

/**
 * Shows the document in the brand of the page around, as far as the tenant allows, and tells the page what was left out.
 * What checks a brand is loaded with the first one; most pages have none. Where it cannot be loaded, the tenant's looks stay.
 * @param stated the tenant's theme; the same object for as long as the document lives
 * @param brand as the page sent it, which may be anything; null for the tenant's looks
 * @returns the theme that is shown
 */
export function useBrand(stated: StatedTheme = NO_THEME, brand: unknown, bridge: Bridge): StatedTheme {
  const [dress, setDress] = useState<Dress>();
  useEffect(() => {
    if (brand === null) return setDress(undefined);
    let isOver = false;
    import("./dress.ts").then(({ dressFor }) => isOver || setDress(dressFor(stated, brand))).catch(() => {});
    return () => {
      isOver = true;
    };
  }, [stated, brand]);
  useLayoutEffect(() => {
    if (dress || sheet) putOn(dress?.style ?? "");
    if (dress?.refusal) bridge.tell("error", { code: "BRAND_REFUSED", message: dress.refusal });
  }, [dress]);
  return dress?.theme ?? stated;
}

/** Follows the document's own style in the cascade, so that it replaces its tokens; no policy of styles forbids it. */
let sheet: CSSStyleSheet | undefined;

function putOn(style: string): void {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    document.adoptedStyleSheets.push(sheet);
  }
  sheet.replaceSync(style);
  document.dispatchEvent(new Event(LOOKS_CHANGED));
}
