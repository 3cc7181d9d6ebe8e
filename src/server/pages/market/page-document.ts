import { createHash } from "node:crypto";
import { themeStyle } from "../../../domain/theme/style.ts";
import { BUILT_IN } from "../../../domain/theme/tokens.ts";
import type { Speaker } from "../../../locales/speaker.ts";
import type { Exchange } from "../../exchange.ts";
import type { Answer } from "../../responses.ts";
import { chooseEncoding, compressed } from "../compress.ts";
import { escapeHtml } from "../html.ts";
import { revalidated } from "../revalidate.ts";
import type { MarketSite } from "./site.ts";

const STYLE = `${themeStyle(BUILT_IN)}
*{box-sizing:border-box}body{margin:0;background:var(--pm-background);color:var(--pm-text);font:16px/1.5 var(--pm-font);font-variant-numeric:tabular-nums}
header,main{max-width:48rem;margin:0 auto;padding:1rem}header{border-block-end:1px solid var(--pm-border)}
a{color:var(--pm-accent)}header a,h2 a{display:inline-block;min-height:1.5rem;text-decoration:none}header a{font-weight:600}
h1,h2{margin:0 0 .4rem;line-height:1.25;overflow-wrap:anywhere;text-wrap:balance}h1{font-size:1.6rem}h2{font-size:1.15rem}
p{margin:.3rem 0}section{margin-block-start:1.4rem}section h2{font-size:1rem;color:var(--pm-muted)}
.card{padding:1rem;background:var(--pm-surface);border:1px solid var(--pm-border);border-radius:var(--pm-radius)}
.big{font-size:1.7rem;line-height:1.2}.yes{color:var(--pm-yes)}.no{color:var(--pm-no)}.soft{color:var(--pm-muted)}
.rules{white-space:pre-line;overflow-wrap:anywhere}.list{display:grid;gap:.8rem;margin:1rem 0;padding:0;list-style:none}
form{display:flex;flex-wrap:wrap;gap:.5rem;margin-block:1rem}input,button{min-height:2.75rem;padding:.4rem .8rem;font:inherit;color:inherit;background:var(--pm-surface);border:1px solid var(--pm-muted);border-radius:var(--pm-radius)}
input{flex:1 1 12rem;min-width:0}button{cursor:pointer;color:var(--pm-onAccent);background:var(--pm-accent);border-color:var(--pm-accent)}
:focus-visible{outline:2px solid var(--pm-accent);outline-offset:2px}
.place{display:grid}.place>*{grid-area:1/1;min-width:0}.place .widget{visibility:hidden}
@media(scripting:enabled){.place{min-height:40rem}}.place .card{align-self:start}
.live .place .widget{visibility:visible}.live .place .card{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}.live .place .card p{display:none}
@media print{.place{min-height:0}.place .widget{display:none}.live .place .card{position:static;width:auto;height:auto;clip-path:none}.live .place .card p{display:block}}`;

/** Mounts the widget in the place that names it, and shows it instead of the card once it has contents. */
const SCRIPT = `const place=document.querySelector(".widget");PredictionMarkets.embed(place,{...place.dataset,autoHeight:true,onEvent({name}){if(name==="ready")document.documentElement.classList.add("live")}})`;

const hashOf = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** One script and one style of its own, named by their hashes, the loader, and the widget's frame: nothing else. */
const POLICY = [
  "default-src 'none'",
  `script-src 'self' ${hashOf(SCRIPT)}`,
  `style-src ${hashOf(STYLE)}`,
  "img-src 'self'",
  "frame-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** How long a page may be a price behind, in seconds; then the entity tag tells whether it is. */
const MAX_AGE_SEC = 5;

export interface PageParts {
  title: string;
  /** Markup of the head beyond what every page has. */
  head?: string;
  /** Markup. */
  main: string;
  /** Whether the page mounts the widget. */
  live?: boolean;
  /** Whether search engines may list it where the tenant lets them. */
  listed?: boolean;
}

/** A page in the reader's language, which is part of what it varies by. */
export async function pageAnswer(
  site: MarketSite,
  exchange: Exchange,
  speaker: Speaker,
  parts: PageParts,
): Promise<Answer> {
  const answer = revalidated(exchange, {
    ...pageOf(site, exchange, speaker, parts),
    cacheControl: `public, max-age=${MAX_AGE_SEC}`,
    headers: [["vary", "Accept-Language"]],
  });
  return answer.status === 304
    ? answer
    : compressed(answer as typeof answer & { body: string }, chooseEncoding(exchange.header("accept-encoding")));
}

/** The page as it is written, for no cache. */
export function pageOf(
  site: MarketSite,
  exchange: Exchange,
  { locale, direction }: Speaker,
  { title, head = "", main, live = false, listed = true }: PageParts,
): Answer & { body: string } {
  const robots = listed ? site.robots : "noindex";
  const script = live ? `<script src="/assets/embed.js"></script><script>${SCRIPT}</script>` : "";
  return {
    status: 200,
    contentType: "text/html; charset=utf-8",
    contentSecurityPolicy: POLICY,
    body: `<!doctype html>
<html lang="${locale}" dir="${direction}" data-theme="auto"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark"><meta name="robots" content="${robots}"><title>${escapeHtml(title)}</title>
<link rel="icon" href="/favicon.ico">${head}<style>${STYLE}</style></head>
<body><header><a href="${escapeHtml(withLocale("/", exchange))}">${escapeHtml(site.name)}</a></header>
<main>${main}</main>${script}</body></html>`,
  };
}

/** A path of the site in the language that the reader chose by the address, if they did. */
export function withLocale(path: string, exchange: Exchange): string {
  const locale = new URLSearchParams(exchange.search).get("locale");
  return locale ? `${path}${path.includes("?") ? "&" : "?"}locale=${encodeURIComponent(locale)}` : path;
}
