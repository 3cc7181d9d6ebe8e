/** Ways to put a widget on a page: a call of the script, an element of it, or a frame where no scripts may run. */
export const SNIPPET_FORMS = ["script", "element", "iframe"] as const;
export type SnippetForm = (typeof SNIPPET_FORMS)[number];

/** Where every release serves its current script. */
export const SCRIPT_PATH = "/assets/v1/embed.js";

/** What a page shows; `marketIds` holds two for `compare`. */
export interface SnippetTerms {
  /** Scheme and host of the tenant. */
  origin: string;
  view: "market" | "markets" | "portfolio" | "card" | "compare";
  theme: string;
  marketIds: readonly string[];
  locale?: string | undefined;
  /** What assistive technology calls a frame that no script names. */
  title: string;
}

export interface SnippetParts {
  /** Lines of HTML. */
  html: string[];
  /** The script that stands in them, whose hash a strict policy of the page has to name. */
  call?: string;
}

/** A place narrower than this, in CSS pixels, is a narrow one. */
const NARROW_PX = 480;

/**
 * CSS pixels that a view takes as a rule, with a user who is signed in: so much is reserved before it is there, so that
 * nothing of the page moves when it comes.
 */
const RESERVED: Record<SnippetTerms["view"], readonly [narrowPx: number, widePx: number]> = {
  market: [760, 840],
  markets: [1200, 900],
  portfolio: [880, 800],
  card: [250, 250],
  compare: [640, 760],
};

/** @param widthPx of the place; a wide one unless given */
export function reservedHeight(view: SnippetTerms["view"], widthPx = NARROW_PX): number {
  return RESERVED[view][widthPx < NARROW_PX ? 0 : 1];
}

/** The HTML that a publisher pastes into a page. @param place the id of the element that a call fills */
export function writeSnippet(form: SnippetForm, place: string, terms: SnippetTerms): SnippetParts {
  const script = `<script src="${attribute(terms.origin + SCRIPT_PATH)}"></script>`;
  if (form === "iframe") return { html: [frameTag(terms)] };
  if (form === "element") return { html: [script, elementTag(terms)] };
  const { view, theme, marketIds, locale } = terms;
  const markets = view === "compare" ? { marketIds } : { marketId: marketIds[0] };
  const options = { view, theme, ...markets, locale, height: reservedHeight(view), autoHeight: true };
  // Without `<` nothing in it can end the script that it stands in.
  const call = `PredictionMarkets.embed("#${place}", ${JSON.stringify(options).replaceAll("<", "\\u003c")})`;
  return { html: [script, `<div id="${place}"></div><script>${call}</script>`], call };
}

function elementTag({ view, theme, marketIds, locale }: SnippetTerms): string {
  const height = String(reservedHeight(view));
  return tag("prediction-market", { market: marketIds.join(","), view, theme, locale, height, "auto-height": "" });
}

/** For looking only: nothing around such a frame gives it a token. */
function frameTag({ origin, view, theme, marketIds, locale, title }: SnippetTerms): string {
  const address = new URL(`/embed/${view}`, origin);
  if (marketIds.length > 0) address.searchParams.set("marketId", marketIds.join(","));
  address.searchParams.set("theme", theme);
  if (locale !== undefined) address.searchParams.set("locale", locale);
  return tag("iframe", {
    src: address.href,
    title,
    width: "100%",
    height: String(reservedHeight(view)),
    frameborder: "0",
    loading: "lazy",
    sandbox: "allow-scripts allow-same-origin allow-popups allow-popups-to-escape-sandbox",
    referrerpolicy: "origin",
  });
}

/** Leaves out attributes without a value; one that only has to be there has an empty text in the last place. */
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
