import { spreadHash } from "../text.ts";

/** The ways to put a widget on a page: a script call, an HTML element, or a frame where scripts are not allowed. */
export const SNIPPET_FORMS = ["script", "element", "iframe"] as const;
export type SnippetForm = (typeof SNIPPET_FORMS)[number];

/** The path at which every release serves its current script. */
export const SCRIPT_PATH = "/assets/v1/embed.js";

export const SNIPPET_THEMES = ["auto", "light", "dark"] as const;
export const SNIPPET_VIEWS = ["market", "markets", "portfolio", "card", "compare"] as const;
type View = (typeof SNIPPET_VIEWS)[number];

/** The smallest and largest number of markets of a view. Without a market, a view shows the top trending one. */
export const MARKETS_OF: Record<View, readonly [least: number, most: number]> = {
  market: [0, 1],
  markets: [0, 0],
  portfolio: [0, 0],
  card: [0, 1],
  compare: [2, 2],
};

/** The contents of a snippet; `marketIds` has two entries for `compare`. */
export interface SnippetTerms {
  /** Scheme and host of the tenant. */
  origin: string;
  view: View;
  theme: (typeof SNIPPET_THEMES)[number];
  marketIds: readonly string[];
  locale?: string | undefined;
  /** The frame's title for assistive technology, if no script sets one. */
  title: string;
  /** The CSS pixels to reserve; `reservedHeight` by default. */
  heightPx?: number | undefined;
  loading?: "lazy" | "eager" | undefined;
  /** If false, nothing is stored in the browser. */
  consent?: false | undefined;
  /** Only for a script call; an element has a property for it. */
  brand?: object | undefined;
}

export interface SnippetParts {
  /** Lines of HTML. */
  html: string[];
  /** The inline script, whose hash a strict policy of the page must name. */
  call?: string;
}

/** A place narrower than this, in CSS pixels, counts as narrow. */
const NARROW_PX = 480;

/**
 * The usual height of a view in CSS pixels, with a signed-in user. It is reserved in advance, so that the page does not
 * move when the view appears.
 */
const RESERVED: Record<View, readonly [narrowPx: number, widePx: number]> = {
  market: [760, 840],
  markets: [1200, 900],
  portfolio: [880, 800],
  card: [250, 250],
  compare: [720, 600],
};

/** @param widthPx the width of the place; wide by default */
export function reservedHeight(view: View, widthPx = NARROW_PX): number {
  return RESERVED[view][widthPx < NARROW_PX ? 0 : 1];
}

/** The HTML that a publisher pastes into a page. Equal terms always give equal text. */
export function writeSnippet(form: SnippetForm, terms: SnippetTerms): SnippetParts {
  const script = `<script src="${attribute(terms.origin + SCRIPT_PATH)}"></script>`;
  if (form === "iframe") return { html: [frameTag(terms)] };
  if (form === "element") return { html: [script, elementTag(terms)] };
  // Without `<`, nothing in it can end the surrounding script.
  const options = JSON.stringify(snippetOptions(terms)).replaceAll("<", "\\u003c");
  // Each widget has its own id, so that several snippets on one page fill separate places.
  const place = `prediction-${terms.view}-${spreadHash(options).toString(16).padStart(8, "0")}`;
  // A page goes on without the script, which may not be reached.
  const call = `window.PredictionMarkets && PredictionMarkets.embed("#${place}", ${options})`;
  return { html: [script, `<div id="${place}"></div><script>${call}</script>`], call };
}

/** The options of the script's call, including those without a value. */
export function snippetOptions(terms: SnippetTerms) {
  const { view, theme, marketIds, locale, heightPx, loading, consent, brand } = terms;
  const isPair = view === "compare";
  return {
    view,
    theme,
    marketIds: isPair ? marketIds : undefined,
    marketId: isPair ? undefined : marketIds[0],
    locale,
    height: heightPx ?? reservedHeight(view),
    autoHeight: true,
    loading,
    consent,
    brand,
  };
}

/**
 * What a strict policy of the page must allow: the script, the frame, and the call by its hash, without 'unsafe-inline'
 * (CSP 3, 6.7.3.3).
 * @param callHash SHA-256 of the call in Base64; undefined without a call
 */
export function snippetPolicy(form: SnippetForm, origin: string, callHash: string | undefined): string {
  const scripts = callHash === undefined ? origin : `${origin} 'sha256-${callHash}'`;
  return form === "iframe" ? `frame-src ${origin}` : `script-src ${scripts}; frame-src ${origin}`;
}

function elementTag({ view, theme, marketIds, locale, heightPx, loading, consent }: SnippetTerms): string {
  return tag("prediction-market", {
    market: marketIds.join(","),
    view,
    theme,
    locale,
    height: String(heightPx ?? reservedHeight(view)),
    "auto-height": "",
    loading,
    consent: consent === false ? "false" : undefined,
  });
}

/** A read-only frame: nothing around it can pass it a token. */
function frameTag(terms: SnippetTerms): string {
  const { origin, view, theme, marketIds, locale, title, heightPx, loading = "lazy", consent } = terms;
  const address = new URL(`/embed/${view}`, origin);
  if (marketIds.length > 0) address.searchParams.set("marketId", marketIds.join(","));
  address.searchParams.set("theme", theme);
  if (locale !== undefined) address.searchParams.set("locale", locale);
  if (consent === false) address.searchParams.set("consent", "0");
  return tag("iframe", {
    src: address.href,
    title,
    width: "100%",
    height: String(heightPx ?? reservedHeight(view)),
    frameborder: "0",
    loading,
    sandbox: "allow-scripts allow-same-origin allow-popups allow-popups-to-escape-sandbox",
    referrerpolicy: "origin",
  });
}

/** Omits attributes without a value; `auto-height` only has to be present. */
function tag(name: string, attributes: Record<string, string | undefined>): string {
  const written = Object.entries(attributes).map(([key, value]) => {
    if (key === "auto-height") return ` ${key}`;
    return value ? ` ${key}="${attribute(value)}"` : "";
  });
  return `<${name}${written.join("")}></${name}>`;
}

function attribute(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
}
