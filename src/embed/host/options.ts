import { type Brand, queryOf, type Shown, THEMES, type Theme, VIEWS, type Written } from "../protocol.ts";
import { ORIGIN } from "./origin.ts";
import type { EmbedOptions } from "./types.ts";
import { warn } from "./warn.ts";

/** What a page asked for, checked. */
export interface Settled extends Shown {
  theme: Theme;
  heightPx: number | undefined;
  autoHeight: boolean;
  loading: "lazy" | "eager";
  consent: boolean;
  signIn: boolean;
  brand: Brand | null;
  written: Written;
}

/** @param place whose language is the widget's, unless the page asks for another */
export function settle(options: EmbedOptions, place: Element): Settled {
  // A page may pass what is no list.
  const marketIds = options.marketIds?.map?.(String);
  const marketId = options.marketId === undefined ? undefined : String(options.marketId);
  const likely = marketIds ? "compare" : marketId ? "market" : "markets";
  const height = `${options.height}`;
  const heightPx = Math.round(Number(height.replace("px", "")));
  const oneOf = <Value>(name: "view" | "theme", known: readonly Value[], usual: Value): Value => {
    const given = (options[name] as Value | undefined) ?? usual;
    if (known.includes(given)) return given;
    warn(`${name} must be one of`, known);
    return usual;
  };
  const locale = options.locale || place.closest("[lang]")?.getAttribute("lang") || document.documentElement.lang;
  return {
    view: oneOf("view", VIEWS, likely),
    marketId,
    marketIds,
    locale: locale && String(locale),
    theme: oneOf("theme", THEMES, "auto"),
    heightPx: heightPx || undefined,
    autoHeight: Boolean(options.autoHeight),
    loading: options.loading === "eager" ? "eager" : "lazy",
    consent: options.consent !== false,
    signIn: options.signIn !== false,
    brand: typeof options.brand === "object" ? options.brand : null,
    written: [Object.keys(options), place.localName, place.getAttributeNames(), height, `${options.loading}`],
  };
}

/** The address of a frame. @param id tells this frame's messages from those of others */
export function addressOf(id: string, settled: Settled): string {
  const address = new URL(`/embed/${settled.view}`, ORIGIN);
  const query = {
    ...queryOf(settled),
    theme: settled.theme,
    ...(settled.consent ? {} : { consent: "0" }),
    ...(settled.signIn ? {} : { signIn: "0" }),
    frame: id,
    // Where the frame may send its messages; it ignores messages from other windows.
    host: location.origin,
  };
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value);
  return address.href;
}
