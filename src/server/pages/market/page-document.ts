import type { Speaker } from "../../../locales/speaker.ts";
import { tagOf, unlessKnown } from "../../conditional.ts";
import type { Exchange } from "../../exchange.ts";
import type { Answer } from "../../responses.ts";
import { LOADER_PATH } from "../assets.ts";
import { chooseEncoding, compressed } from "../compress.ts";
import { escapeHtml } from "../html.ts";
import { SCRIPT } from "./page-look.ts";
import type { MarketSite } from "./site.ts";

/** How many seconds a page may show an old price before it is revalidated by its entity tag. */
const MAX_AGE_SEC = 5;

export interface PageParts {
  title: string;
  /** Additional markup of the head. */
  head?: string;
  /** The markup of the main part. */
  main: string;
  /** Whether the page mounts the widget. */
  live?: boolean;
  /** Whether search engines may list the page, if the tenant allows it. */
  listed?: boolean;
}

/** A page in the reader's language; the answer varies by language. */
export async function pageAnswer(
  site: MarketSite,
  exchange: Exchange,
  speaker: Speaker,
  parts: PageParts,
): Promise<Answer> {
  const page = pageOf(site, exchange, speaker, parts);
  const tag = tagOf(page.body);
  const answer = {
    ...page,
    cacheControl: `public, max-age=${MAX_AGE_SEC}`,
    headers: [
      ["vary", "Accept-Language"],
      ["etag", tag],
    ] as const,
  };
  const known = unlessKnown(exchange, answer, tag);
  return known.status === 304 ? known : compressed(answer, chooseEncoding(exchange.header("accept-encoding")));
}

/** The page without headers for caches. */
export function pageOf(
  site: MarketSite,
  exchange: Exchange,
  { locale, direction }: Speaker,
  { title, head = "", main, live = false, listed = true }: PageParts,
): Answer & { body: string } {
  const robots = listed ? site.robots : "noindex";
  const script = live ? `<script src="${LOADER_PATH}"></script><script>${SCRIPT}</script>` : "";
  return {
    status: 200,
    contentType: "text/html; charset=utf-8",
    contentSecurityPolicy: site.look.policy,
    body: `<!doctype html>
<html lang="${locale}" dir="${direction}" data-theme="auto"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark"><meta name="robots" content="${robots}"><title>${escapeHtml(title)}</title>
<link rel="icon" href="/favicon.ico">${head}<style>${site.look.style}</style></head>
<body><header><a href="${escapeHtml(withLocale("/", exchange))}">${brandOf(site)}</a></header>
<main>${main}</main>${script}</body></html>`,
  };
}

/** The tenant's logo with its name as alternative text, or else the name. */
function brandOf({ name, theme: { logo } }: MarketSite): string {
  return logo ? `<img src="${escapeHtml(logo.url)}" alt="${escapeHtml(logo.alt)}" height="40">` : escapeHtml(name);
}

/** A path of the site that keeps the language chosen in the address. */
export function withLocale(path: string, exchange: Exchange): string {
  const locale = new URLSearchParams(exchange.search).get("locale");
  return locale ? `${path}${path.includes("?") ? "&" : "?"}locale=${encodeURIComponent(locale)}` : path;
}
