import { type Brand, queryOf, type Shown, THEMES, type Theme, VIEWS } from "../protocol.ts";
import type { EmbedOptions } from "./types.ts";

/** What a page asked for, checked. */
export interface Settled extends Shown {
  theme: Theme;
  heightPx: number | undefined;
  autoHeight: boolean;
  loading: "lazy" | "eager";
  consent: boolean;
  signIn: boolean;
  brand: Brand | null;
}

/** @param place whose language is the widget's, unless the page asks for another */
export function settle(options: EmbedOptions, place: Element): Settled {
  const marketIds = Array.isArray(options.marketIds) ? options.marketIds.map(String) : undefined;
  const marketId = options.marketId === undefined ? undefined : String(options.marketId);
  const likely = marketIds ? "compare" : marketId ? "market" : "markets";
  const heightPx = Math.round(Number(options.height));
  const locale = options.locale || place.closest("[lang]")?.getAttribute("lang") || document.documentElement.lang;
  return {
    view: VIEWS.find((one) => one === options.view) ?? likely,
    marketId,
    marketIds,
    locale: String(locale || "") || undefined,
    theme: THEMES.find((one) => one === options.theme) ?? "auto",
    heightPx: Number.isFinite(heightPx) && options.height !== null ? heightPx : undefined,
    autoHeight: Boolean(options.autoHeight),
    loading: options.loading === "eager" ? "eager" : "lazy",
    consent: options.consent !== false,
    signIn: options.signIn !== false,
    brand: typeof options.brand === "object" ? options.brand : null,
  };
}

/** The address of a frame. @param id tells this frame's messages from those of others */
export function addressOf(origin: string, id: string, settled: Settled): string {
  const address = new URL(`/embed/${settled.view}`, origin);
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
