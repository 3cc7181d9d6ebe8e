import type { Fault } from "../../../domain/fault.ts";
import type { MessageKey } from "../../../locales/messages.ts";
import type { Exchange } from "../../exchange.ts";
import { type Answer, refusal } from "../../responses.ts";
import type { Route } from "../../routes.ts";
import { escapeHtml } from "../html.ts";
import { pageSpeaker, readerLocale } from "../reader-locale.ts";
import { listPage } from "./list-page.ts";
import { marketPage } from "./market-page.ts";
import { pageOf, withLocale } from "./page-document.ts";
import { type MarketSite, readMarket } from "./site.ts";

/** `/`, the open markets, and `/m/:id`, a page for each market: readable without scripts, and by programs that preview links. */
export function marketRoutes(site: MarketSite): Route[] {
  const page = (path: string, answer: Route["answer"]): Route => ({
    method: "GET",
    path,
    forBrowsers: false,
    answer,
    refuse: (exchange, fault) => refusalPage(site, exchange, fault),
  });
  return [
    page("/", (exchange) => listPage(site, exchange, speakerOf(exchange))),
    page("/m/:id", async (exchange) =>
      marketPage(site, exchange, speakerOf(exchange), await readMarket(site, exchange)),
    ),
  ];
}

const speakerOf = (exchange: Exchange) => pageSpeaker(readerLocale(exchange));

/** A refusal as a page: what is wrong, and the way back. */
function refusalPage(site: MarketSite, exchange: Exchange, fault: Fault): Answer {
  const { status, headers = [] } = refusal(fault);
  const speaker = speakerOf(exchange);
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
