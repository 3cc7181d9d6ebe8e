import type { Speaker } from "../../../locales/speaker.ts";
import type { Exchange } from "../../exchange.ts";
import type { Answer } from "../../responses.ts";
import { marketCard } from "../card.ts";
import { escapeHtml } from "../html.ts";
import { pageAnswer, withLocale } from "./page-document.ts";
import { absolute, type MarketSite, marketPath, readOpenMarkets } from "./site.ts";

/** The open markets, those that close next first; a search is a form, and the next page a link. */
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
    // A search has no end of addresses.
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
