import {
  type Action,
  type Brand,
  type EmbedEvent,
  LOADER_VERSION,
  queryOf,
  type Shown,
  THEMES,
  type Theme,
  VIEWS,
  type View,
} from "../protocol.ts";

/** What a page asks for. Nothing is required. */
export interface EmbedOptions {
  /** `compare` with `marketIds`, `market` with `marketId`, else `markets`, unless given. */
  view?: View | undefined;
  /** `dark` unless given. */
  theme?: Theme | undefined;
  /** Height in CSS pixels; with `autoHeight` the room that is reserved at first. */
  height?: number | undefined;
  /** Which market the `market` and `card` views show; the top trending one unless given. */
  marketId?: string | undefined;
  /** The two markets of `compare`. */
  marketIds?: readonly string[] | undefined;
  /** Lets the frame grow and shrink with what it shows. */
  autoHeight?: boolean | undefined;
  /** A BCP 47 tag; the language of the page unless given. */
  locale?: string | undefined;
  /** `lazy` unless given: the frame loads when its place comes near. */
  loading?: "lazy" | "eager" | undefined;
  /** false: nothing is stored in the browser, by the page's script or by the frame. true unless given. */
  consent?: boolean | undefined;
  brand?: Brand | undefined;
  /** A JWT of the user who is signed in here, or nothing. Asked again before the token expires. */
  getToken?: (() => string | null | undefined | Promise<string | null | undefined>) | undefined;
  onEvent?: ((event: EmbedEvent) => void) | undefined;
  /** What only the page can do for the user: sign them in, verify them, take their money, ask them questions. */
  onAction?: ((action: Action) => void) | undefined;
}

/** What a page asked for, checked. */
export interface Settled extends Shown {
  theme: Theme;
  heightPx: number | undefined;
  autoHeight: boolean;
  loading: "lazy" | "eager";
  consent: boolean;
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
    theme: THEMES.find((one) => one === options.theme) ?? "dark",
    heightPx: Number.isFinite(heightPx) && options.height !== null ? heightPx : undefined,
    autoHeight: Boolean(options.autoHeight),
    loading: options.loading === "eager" ? "eager" : "lazy",
    consent: options.consent !== false,
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
    v: LOADER_VERSION,
    frame: id,
    // Where the frame may send its messages; it ignores messages from other windows.
    host: location.origin,
  };
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value);
  return address.href;
}
