import { randomBytes } from "node:crypto";
import type { FrameData, RefusalData } from "../../contract/resources/embed.ts";
import type { Fault } from "../../domain/fault.ts";
import { completeTheme, type StatedTheme } from "../../domain/theme/stated-theme.ts";
import { themeStyle } from "../../domain/theme/style.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { CATALOGUES, DEFAULT_LOCALE } from "../../locales/catalogues.ts";
import type { KeyRing } from "../access/key-ring.ts";
import type { Origins } from "../access/origins.ts";
import type { Exchange } from "../exchange.ts";
import { type Answer, refusal } from "../responses.ts";
import type { Route } from "../routes.ts";
import type { Assets } from "./assets.ts";
import { chooseEncoding, compressed } from "./compress.ts";
import type { FrameReader, View } from "./embed-data.ts";
import { escapeHtml, jsonInScript, pagePolicy } from "./html.ts";

export interface EmbedOptions {
  /** The tenant's name, as people read it. */
  name: string;
  /** The tenant's own address, whose pages may trade too. */
  baseUrl?: string | undefined;
  /** Public API keys that pages may use, in order of preference. */
  publicKeys: readonly string[];
  /** Origins whose pages may show the frame and trade in it; empty: any may show it, none may trade. */
  allowedOrigins: readonly string[];
  /** How it looks; built in unless given. */
  theme?: StatedTheme | undefined;
  /** BCP 47 tag of the language where a page states none; `en` unless given. */
  locale?: string | undefined;
  /** Traders are warned of trades that move the price by so much, 0 to 1; 0.05 unless given. */
  warnImpact?: number | undefined;
  /** What readers call a category, by slug: in every language, or by BCP 47 tag. */
  categories?: Readonly<Record<string, string | Readonly<Record<string, string>>>> | undefined;
  /** Whether search engines may list the market pages; they may unless given. */
  robots?: "index" | "noindex" | undefined;
}

export interface EmbedServices {
  options: EmbedOptions;
  assets: Assets;
  reader: FrameReader;
  keys: KeyRing;
  /** The tenant's own pages and the listed ones. */
  traders: Origins;
}

const VIEWS: readonly View[] = ["market", "markets", "portfolio"];
/** The usual price impact from which on traders are warned. */
const WARN_IMPACT = 0.05;
const THEMES = ["dark", "light", "auto"];

/** `/embed/<view>`: a document with everything inlined, the first data too, so that opening a view is one request. */
export function embedRoutes(services: EmbedServices): Route[] {
  return VIEWS.map((view) => ({
    method: "GET",
    path: `/embed/${view}`,
    forBrowsers: false,
    async answer(exchange) {
      const request = requestOf(services, exchange);
      const data = await frameData(services, view, request);
      const { name, theme } = services.options;
      const { documentStyle, frameStyle, script } = services.assets;
      const style = themeStyle(completeTheme(theme)) + documentStyle + frameStyle;
      const title = data.market ? `${data.market.detail.question} - ${name}` : name;
      const parts = { title, data, style, script, content: "" };
      return compressed(documentOf(request, parts), chooseEncoding(exchange.header("accept-encoding")));
    },
    // The page around shows the frame even after a refusal, so the refusal is a page too.
    refuse: (exchange, fault) => refusalDocument(services, requestOf(services, exchange), fault),
  }));
}

/** What the loader wrote into the frame's address, checked. */
interface FrameRequest {
  marketId: string | undefined;
  theme: string;
  mayTrade: boolean;
  /** Sources of `frame-ancestors`. */
  ancestors: string;
}

/**
 * A document that trades may only be shown by pages that may trade. A false claim in its address does not help, because
 * the browser checks every page around it. Without a list any page may show a document that does not trade.
 */
function requestOf({ options, traders }: EmbedServices, exchange: Exchange): FrameRequest {
  const query = new URLSearchParams(exchange.search);
  const mayTrade = traders.includes(query.get("host") ?? "", exchange);
  const isForAll = options.allowedOrigins.length === 0 && !mayTrade;
  return {
    marketId: query.get("marketId") || undefined,
    theme: THEMES.find((one) => one === query.get("theme")) ?? "dark",
    mayTrade,
    ancestors: isForAll ? "*" : ["'self'", ...options.allowedOrigins].join(" "),
  };
}

async function frameData(
  { options, reader, keys }: EmbedServices,
  view: View,
  { marketId, mayTrade }: FrameRequest,
): Promise<FrameData> {
  await keys.ready();
  return {
    view,
    name: options.name,
    locale: DEFAULT_LOCALE,
    messages: CATALOGUES[DEFAULT_LOCALE],
    apiKey: options.publicKeys.find((key) => keys.find(key)?.type === "public") ?? null,
    mayTrade,
    now: Math.floor(wallClockMs()),
    theme: options.theme,
    warnImpact: options.warnImpact ?? WARN_IMPACT,
    ...(await reader.read(view, marketId)),
  };
}

/** Small, because it also answers clients that ask too often. */
function refusalDocument({ options, assets }: EmbedServices, request: FrameRequest, fault: Fault): Answer {
  const { status, headers = [] } = refusal(fault);
  const { code, message } = fault;
  const data: RefusalData = { code, message, retryAfterSec: fault.retryAfterSec ?? (status >= 500 ? 10 : 0) };
  const content = `<main><h1>${escapeHtml(options.name)}</h1><p id="why" role="status">${escapeHtml(message)}</p></main>`;
  const answer = documentOf(request, {
    title: options.name,
    data,
    style: themeStyle(completeTheme(options.theme)) + assets.documentStyle,
    script: assets.refusal,
    content,
  });
  return { ...answer, status, headers };
}

interface DocumentParts {
  title: string;
  data: object;
  style: string;
  script: string;
  /** Markup. */
  content: string;
}

/** Its only script is ours, named by a nonce; the data to show is text in a data block. */
function documentOf(
  { theme, ancestors }: FrameRequest,
  { title, data, style, script, content }: DocumentParts,
): Answer & { body: string } {
  const nonce = randomBytes(16).toString("base64");
  return {
    status: 200,
    contentType: "text/html; charset=utf-8",
    contentSecurityPolicy: pagePolicy(nonce, ancestors),
    body: `<!doctype html>
<html lang="en" data-theme="${theme}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="${theme === "auto" ? "light dark" : theme}"><title>${escapeHtml(title)}</title>
<style nonce="${nonce}">${style}</style></head>
<body><div id="app">${content}</div>
<script type="application/json" id="data">${jsonInScript(data)}</script>
<script nonce="${nonce}">${script}</script></body></html>`,
  };
}
