import type { Fault } from "../../../domain/fault.ts";
import { Languages } from "../../../locales/languages.ts";
import type { MessageKey } from "../../../locales/messages.ts";
import type { Handlers } from "../../../services/invoke.ts";
import type { Exchange } from "../../exchange.ts";
import { type Answer, refusal } from "../../responses.ts";
import type { Route } from "../../routes.ts";
import type { EmbedOptions } from "../embed-page.ts";
import { escapeHtml } from "../html.ts";
import { Readers } from "../readers.ts";
import { faviconAnswer, robotsAnswer } from "./crawlers.ts";
import { listPage } from "./list-page.ts";
import { marketPage } from "./market-page.ts";
import { oembedRoute } from "./oembed.ts";
import { pageOf, withLocale } from "./page-document.ts";
import { pageLook } from "./page-look.ts";
import { pageRoute } from "./page-route.ts";
import { pictureRoutes } from "./picture-routes.ts";
import { type MarketSite, readMarket } from "./site.ts";

/** `/`, the open markets, and `/m/:id`, a page for each market: readable without scripts, and by programs that preview links. */
export function marketRoutes(
  options: EmbedOptions,
  handlers: Handlers,
  finalValueOf: MarketSite["finalValueOf"],
): Route[] {
  const { name, baseUrl, robots = "index", theme = {}, languages = new Languages() } = options;
  const readers = new Readers(languages);
  const site: MarketSite = { name, baseUrl, robots, theme, look: pageLook(theme), readers, handlers, finalValueOf };
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

/** A refusal as a page: what is wrong, and the way back. */
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
