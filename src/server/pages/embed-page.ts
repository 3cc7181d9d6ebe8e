import type { FrameData, FrameList, FrameMarket, RefusalData } from "../../contract/resources/embed.ts";
import type { Fault } from "../../domain/fault.ts";
import { completeTheme, type StatedTheme, themeSources } from "../../domain/theme/stated-theme.ts";
import { themeStyle } from "../../domain/theme/style.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import type { Languages } from "../../locales/languages.ts";
import { type Speaker, speakerFor } from "../../locales/speaker.ts";
import type { KeyRing } from "../access/key-ring.ts";
import type { Origins } from "../access/origins.ts";
import { tagOf, unlessKnown } from "../conditional.ts";
import type { Exchange } from "../exchange.ts";
import { type Answer, type Header, refusal } from "../responses.ts";
import type { Route } from "../routes.ts";
import type { Assets } from "./assets.ts";
import { marketCard } from "./card.ts";
import { chooseEncoding, compressed } from "./compress.ts";
import type { FrameReader, ReadMarket, View } from "./embed-data.ts";
import { escapeHtml, hashSource, jsonInScript, pagePolicy } from "./html.ts";
import { marketInWords } from "./market-in-words.ts";

export interface EmbedOptions {
  /** The tenant's display name. */
  name: string;
  /** The tenant's own address, whose pages may also trade. */
  baseUrl?: string | undefined;
  /** Public API keys that pages may use, in order of preference. */
  publicKeys: readonly string[];
  /** Origins whose pages may show the frame and trade in it. If empty, any page may show it and none may trade. */
  allowedOrigins: readonly string[];
  /** The look; the built-in theme by default. */
  theme?: StatedTheme | undefined;
  /** The languages of readers; the built-in ones by default. */
  languages?: Languages | undefined;
  /** Trades that move the price by this much (0 to 1) cause a warning; 0.05 by default. */
  warnImpact?: number | undefined;
  /** Whether search engines may list the market pages; they may by default. */
  robots?: "index" | "noindex" | undefined;
}

export interface EmbedServices {
  options: EmbedOptions;
  assets: Assets;
  reader: FrameReader;
  languages: Languages;
  keys: KeyRing;
  /** The tenant's own pages and those of the listed origins. */
  traders: Origins;
  /** A page that accepts trades: the first listed origin, or the playground with this market; undefined if none is known. */
  tradeAt(marketId: string | undefined): string | undefined;
}

const VIEWS: readonly View[] = ["market", "markets", "portfolio", "card", "compare"];
const THEMES = ["auto", "light", "dark"];
/** The default price impact that causes a warning. */
const WARN_IMPACT = 0.05;

/** The document depends only on its address, so any cache may keep it and revalidates it after a second. */
const CACHE_CONTROL = "public, max-age=1";
/** Cross-origin isolated pages may show the frame too, so the frame itself must be isolated (HTML, 7.1.4). */
const FRAME_HEADERS: readonly Header[] = [
  ["cross-origin-embedder-policy", "require-corp"],
  ["cross-origin-resource-policy", "cross-origin"],
];

/** `/embed/<view>`: a document that is readable without scripts, with the data that its script needs first. */
export function embedRoutes(services: EmbedServices): Route[] {
  return [
    ...VIEWS.map((view): Route => documentRoute(services, view)),
    // A portfolio belongs to its user: `/embed/data/portfolio` is an operation.
    ...VIEWS.filter((view) => view !== "portfolio").map((view): Route => dataRoute(services, view)),
    listRoute(services),
  ];
}

function documentRoute(services: EmbedServices, view: View): Route {
  const { options, assets } = services;
  return {
    ...EMBED,
    path: `/embed/${view}`,
    async answer(exchange) {
      const request = requestOf(services, exchange);
      const data = await frameData(services, view, request);
      const title = data.market ? `${data.market.detail.question} - ${options.name}` : options.name;
      const content = contentOf(data, request.speaker);
      const script = { tag: `<script type="module" src="${assets.framePath}"></script>`, source: "'self'" };
      const { fontSrc: fonts, imgSrc: images } = themeSources(options.theme);
      const page = { title, style: styleOf(services), script, content, fonts, images };
      return cacheable(exchange, data, (text) => documentOf(request, { ...page, data: text }));
    },
    // The host page shows the frame even after an error, so the error is a page too.
    refuse: (exchange, fault) => refusalDocument(services, requestOf(services, exchange), fault),
  };
}

/** The same data as JSON, so that a frame can change views or recover from an outage without loading a document. */
function dataRoute(services: EmbedServices, view: View): Route {
  return {
    ...EMBED,
    path: `/embed/data/${view}`,
    answer: async (exchange) =>
      cacheable(exchange, await frameData(services, view, requestOf(services, exchange)), jsonAnswer),
  };
}

function listRoute({ reader }: EmbedServices): Route {
  return {
    ...EMBED,
    path: "/embed/data/list",
    async answer(exchange) {
      const query = new URLSearchParams(exchange.search);
      const stated = (name: string): string | undefined => query.get(name) || undefined;
      const list = await reader.list({ q: stated("q"), category: stated("category"), cursor: stated("cursor") });
      return cacheable(exchange, list, jsonAnswer);
    },
  };
}

const EMBED = { method: "GET", forBrowsers: false, bucket: "embed" } as const;

type Text = Answer & { body: string };

const jsonAnswer = (body: string): Text => ({
  status: 200,
  body,
  contentType: "application/json",
  contentSecurityPolicy: "default-src 'none'; frame-ancestors 'none'",
});

/**
 * An answer that caches keep for a second and then revalidate. Its tag leaves out the time, so that equal contents have
 * equal tags.
 * @param write makes the answer from its data as JSON
 */
async function cacheable(
  exchange: Exchange,
  data: FrameData | FrameList,
  write: (json: string) => Text,
): Promise<Answer> {
  const { now, ...lasting } = "now" in data ? data : { ...data, now: undefined };
  const json = jsonInScript(lasting);
  const tag = tagOf(write(json).body);
  const answer = write(now === undefined ? json : `{"now":${now},${json.slice(1)}`);
  const headers: Header[] = [...FRAME_HEADERS, ["etag", tag]];
  const kept = { ...answer, cacheControl: CACHE_CONTROL, headers };
  return compressed(unlessKnown(exchange, kept, tag), chooseEncoding(exchange.header("accept-encoding")));
}

/** The checked parameters that the loader wrote into the frame's address. */
interface FrameRequest {
  marketId: string | undefined;
  theme: string;
  speaker: Speaker;
  messages: FrameData["messages"];
  categories: FrameData["categories"];
  mayTrade: boolean;
  /** Sources of `frame-ancestors`. */
  ancestors: string[];
}

/**
 * Only pages that may trade may show a document that trades. A false claim in its address does not help, because the
 * browser checks every page around it. Without a list, any page may show a document that does not trade.
 */
function requestOf({ options, languages, traders }: EmbedServices, exchange: Exchange): FrameRequest {
  const query = new URLSearchParams(exchange.search);
  const mayTrade = traders.includes(query.get("host") ?? "", exchange);
  const isForAll = options.allowedOrigins.length === 0 && !mayTrade;
  const { locale, messages, categories } = languages.choose([query.get("locale") ?? ""]);
  return {
    marketId: query.get("marketId") || undefined,
    theme: THEMES.find((one) => one === query.get("theme")) ?? "auto",
    // The server does not know the reader's time zone, and all readers share one document.
    speaker: speakerFor(locale, messages, { timeZone: "UTC" }),
    messages,
    categories,
    mayTrade,
    ancestors: isForAll ? ["*"] : ["'self'", ...options.allowedOrigins],
  };
}

async function frameData(
  { options, reader, keys, tradeAt }: EmbedServices,
  view: View,
  { marketId, mayTrade, speaker, messages, categories }: FrameRequest,
): Promise<FrameData> {
  await keys.ready();
  const { market, compared, ...rest } = await reader.read(view, marketId);
  const told = (each: ReadMarket): FrameMarket => marketInWords(view, each, speaker);
  return {
    view,
    name: options.name,
    locale: speaker.locale,
    messages: Object.fromEntries(
      Object.entries(messages).filter(([key]) => !OF_PAGES.test(key)),
    ) as FrameData["messages"],
    categories,
    warnImpact: options.warnImpact ?? WARN_IMPACT,
    apiKey: options.publicKeys.find((key) => keys.find(key)?.type === "public") ?? null,
    mayTrade,
    // The tenant's own pages do not link to each other for trading.
    tradeAt: tradeAt(market?.detail.id) ?? (mayTrade ? undefined : options.baseUrl) ?? null,
    now: Math.floor(wallClockMs()),
    theme: options.theme,
    ...rest,
    ...(market && { market: told(market) }),
    ...(compared && { compared: [told(compared[0]), told(compared[1])] }),
  };
}

/** Messages that only the server uses. A portfolio tells voids and corrections, as the server does of a market. */
const OF_PAGES = /^(page|source|host|end(?!\.(voidedFor|corrected)$)|proposal)\./;

/** The text for readers without scripts, and for everyone until the script has run. */
function contentOf({ name, market, compared, markets = [] }: FrameData, speaker: Speaker): string {
  const whole = [...(market ? [market] : []), ...(compared ?? [])].map(({ detail }) => detail);
  // List items have no status: they accept trades.
  const items = markets.map(({ question, yesPrice, closeAt }) => ({ question, yesPrice, closeAt }));
  const cards = [...whole, ...items].map((each) => marketCard(speaker, each, { level: market ? 1 : 2 }));
  return `<main>${market ? "" : `<h1>${escapeHtml(name)}</h1>`}${cards.join("")}</main>`;
}

/** The messages of a document without a view. */
const OF_REFUSALS = /^(state|refusal)\./;

/** Small, because it also answers clients that ask too often; and complete, since a script request would be refused too. */
function refusalDocument(services: EmbedServices, request: FrameRequest, fault: Fault): Answer {
  const { status, headers = [] } = refusal(fault);
  const { options, assets } = services;
  const { code, message } = fault;
  const data: RefusalData = {
    code,
    message,
    retryAfterSec: fault.retryAfterSec ?? (status >= 500 ? 10 : 0),
    locale: request.speaker.locale,
    messages: Object.fromEntries(Object.entries(request.messages).filter(([key]) => OF_REFUSALS.test(key))),
    framePath: assets.framePath,
  };
  const content = `<main class="unavailable" data-pm="unavailable"><h1>${escapeHtml(options.name)}</h1><p id="why" role="status">${escapeHtml(message)}</p></main>`;
  // Allows everything that the view will need, since the view replaces the contents of this document.
  const { fontSrc: fonts, imgSrc: images } = themeSources(options.theme);
  const answer = documentOf(request, {
    title: options.name,
    data: jsonInScript(data),
    style: styleOf(services),
    fonts,
    images,
    script: { tag: `<script>${assets.refusal}</script>`, source: `${hashSource(assets.refusal)} 'self'` },
    content,
  });
  return { ...answer, status, headers: [...FRAME_HEADERS, ...headers] };
}

/** The tenant's theme, and the styles that a document needs before its script brings the rest. */
function styleOf({ options, assets }: EmbedServices): string {
  return themeStyle(completeTheme(options.theme)) + assets.documentStyle;
}

interface DocumentParts {
  title: string;
  /** The data for the script as escaped JSON. */
  data: string;
  style: string;
  /** Sources in addition to the document's own origin. */
  fonts: readonly string[];
  images: readonly string[];
  /** The script element at the end of the document, and the policy source that allows it. */
  script: { tag: string; source: string };
  /** The document's markup. */
  content: string;
}

/** The single script and style are ours; the data to show is text in a data block. */
function documentOf(
  { theme, ancestors, speaker }: FrameRequest,
  { title, data, style, script, content, fonts, images }: DocumentParts,
): Text {
  return {
    status: 200,
    contentType: "text/html; charset=utf-8",
    contentSecurityPolicy: pagePolicy({
      scripts: [script.source],
      styles: [hashSource(style)],
      fonts: ["'self'", ...fonts],
      images: ["'self'", ...images],
      ancestors,
    }),
    body: `<!doctype html>
<html lang="${escapeHtml(speaker.locale)}" dir="${speaker.direction}" data-theme="${theme}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="${theme === "auto" ? "light dark" : theme}"><title>${escapeHtml(title)}</title>
<style>${style}</style></head>
<body><div id="app" data-static>${content}</div>
<script type="application/json" id="data">${data}</script>
${script.tag}</body></html>`,
  };
}
