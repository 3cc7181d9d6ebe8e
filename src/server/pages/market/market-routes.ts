import type { Fault } from "../../../domain/fault.ts";
import { completeTheme, type StatedTheme } from "../../../domain/theme/stated-theme.ts";
import { Languages } from "../../../locales/languages.ts";
import type { MessageKey } from "../../../locales/messages.ts";
import type { Speaker } from "../../../locales/speaker.ts";
import type { Handlers } from "../../../services/invoke.ts";
import type { Exchange } from "../../exchange.ts";
import { type Answer, refusal } from "../../responses.ts";
import type { Route } from "../../routes.ts";
import { marketCard } from "../card.ts";
import type { FrameReader } from "../embed-data.ts";
import type { EmbedOptions } from "../embed-page.ts";
import { escapeHtml } from "../html.ts";
import { marketPage } from "./market-page.ts";
import { oembedRoute } from "./oembed.ts";
import { pageAnswer, pageOf, withLocale } from "./page-document.ts";
import { pageLook } from "./page-look.ts";
import { pictureRoutes } from "./picture-routes.ts";
import { absolute, type MarketSite, marketPath, pageRoute, Readers, readMarket, readOpenMarkets } from "./site.ts";

/** `/`, the open markets, and `/m/:id`, a page for each market. Both are readable without scripts and by link previews. */
export function marketRoutes(
  options: EmbedOptions & Pick<MarketSite, "signInAt">,
  handlers: Handlers,
  reader: Pick<FrameReader, "finalValue" | "proposal" | "curve">,
): Route[] {
  const { name, baseUrl, robots = "index", theme = {}, languages = new Languages(), signInAt } = options;
  const readers = new Readers(languages);
  const site: MarketSite = {
    name,
    baseUrl,
    signInAt,
    robots,
    theme,
    look: pageLook(theme),
    readers,
    handlers,
    finalValueOf: (id) => reader.finalValue(id),
    proposalAbout: (id) => reader.proposal(id),
    curveOf: (id) => reader.curve(id),
  };
  const page = (path: string, answer: Route["answer"]): Route => ({
    ...pageRoute(path, answer),
    refuse: (exchange, fault) => refusalPage(site, exchange, fault),
  });
  return [
    pageRoute("/robots.txt", async () => robotsAnswer(robots)),
    pageRoute("/favicon.ico", async () => faviconAnswer(theme)),
    ...pictureRoutes(site),
    oembedRoute(site),
    page("/", (exchange) => listPage(site, exchange, site.readers.speakerOf(exchange))),
    page("/m/:id", async (exchange) =>
      marketPage(site, exchange, site.readers.speakerOf(exchange), await readMarket(site, exchange)),
    ),
  ];
}

/** An error as a page: what is wrong, and a link back. */
function refusalPage(site: MarketSite, exchange: Exchange, fault: Fault): Answer {
  const { status, headers = [] } = refusal(fault);
  const speaker = site.readers.speakerOf(exchange);
  const [title, hint] = wordsOf(status).map((key) => speaker.say(key));
  const home = escapeHtml(withLocale("/", exchange));
  const page = pageOf(site, exchange, speaker, {
    title: `${title} - ${site.name}`,
    main: `<h1>${escapeHtml(title)}</h1><p>${escapeHtml(hint)}</p><p><a href="${home}">${escapeHtml(speaker.say("page.allMarkets"))}</a></p>`,
    listed: false,
  });
  return { ...page, status, headers: [...headers, ["vary", "Accept-Language"]] };
}

function wordsOf(status: number): [title: MessageKey, hint: MessageKey] {
  if (status === 404) return ["page.noMarket", "page.noMarketHint"];
  if (status === 400) return ["page.badRequest", "page.badRequestHint"];
  return ["page.unavailable", "page.unavailableHint"];
}

const DAY_CACHE = "public, max-age=86400";

/** The contents of `/robots.txt` (RFC 9309). Link previews obey it too, so `noindex` leaves links without a picture. */
export function robotsAnswer(robots: "index" | "noindex"): Answer {
  const rules = robots === "index" ? "Disallow: /v1/\nAllow: /\n" : "Disallow: /\n";
  return {
    status: 200,
    body: `User-agent: *\n${rules}`,
    contentType: "text/plain; charset=utf-8",
    cacheControl: "public, max-age=3600",
  };
}

/** A rising curve in the theme's accent, as SVG. Browsers accept SVG under this name. */
export function faviconAnswer(theme: StatedTheme): Answer {
  const { accent, onAccent } = completeTheme(theme).colors;
  const faces = `rect{fill:${accent.light}}path{stroke:${onAccent.light}}@media(prefers-color-scheme:dark){rect{fill:${accent.dark}}path{stroke:${onAccent.dark}}}`;
  return {
    status: 200,
    body: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><style>${faces}</style><rect width="32" height="32" rx="7"/><path d="M6 23h6v-6h6v-4h4V8h4" fill="none" stroke-width="3.5" stroke-linejoin="round" stroke-linecap="round"/></svg>`,
    contentType: "image/svg+xml",
    // The policy allows the picture's own style, for people who open the address itself.
    contentSecurityPolicy: "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    cacheControl: DAY_CACHE,
  };
}

/** The open markets, those that close next first, with a search form and a link to the next page. */
export async function listPage(site: MarketSite, exchange: Exchange, speaker: Speaker): Promise<Answer> {
  const query = new URLSearchParams(exchange.search);
  const q = query.get("q")?.trim() ?? "";
  const { items, nextCursor } = await readOpenMarkets(site, { q, cursor: query.get("cursor") || undefined });
  const cards = items.map((market) => {
    const href = withLocale(marketPath(market.id), exchange);
    return `<li>${marketCard(speaker, market, { href })}</li>`;
  });
  const more = nextCursor === null ? "" : nextLink(speaker, exchange, { q, cursor: nextCursor });
  const title = speaker.say("page.openMarkets");
  return pageAnswer(site, exchange, speaker, {
    title: `${title} - ${site.name}`,
    head: `<link rel="canonical" href="${escapeHtml(absolute(site, exchange, "/"))}">`,
    main: `<h1>${escapeHtml(title)}</h1>${searchForm(speaker, query.get("locale"), q)}
${cards.length === 0 ? `<p>${escapeHtml(speaker.say(q === "" ? "page.noneOpen" : "page.noneFound"))}</p>` : `<ol class="list">${cards.join("\n")}</ol>`}${more}`,
    // The number of possible searches is unlimited.
    listed: q === "",
  });
}

function searchForm(speaker: Speaker, locale: string | null, q: string): string {
  const kept = locale ? `<input type="hidden" name="locale" value="${escapeHtml(locale)}">` : "";
  const label = escapeHtml(speaker.say("page.search"));
  return `<form role="search" action="/" method="get">${kept}<input type="search" name="q" value="${escapeHtml(q)}" aria-label="${label}" placeholder="${label}" dir="auto"><button>${escapeHtml(speaker.say("page.find"))}</button></form>`;
}

function nextLink(speaker: Speaker, exchange: Exchange, { q, cursor }: { q: string; cursor: string }): string {
  const next = new URLSearchParams({ ...(q === "" ? {} : { q }), cursor });
  const href = escapeHtml(withLocale(`/?${next}`, exchange));
  return `<p><a rel="next" href="${href}">${escapeHtml(speaker.say("page.more"))}</a></p>`;
}
