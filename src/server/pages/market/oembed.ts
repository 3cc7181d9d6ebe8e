import { Fault } from "../../../domain/fault.ts";
import { FOR_ALL, tagOf, unlessKnown } from "../../conditional.ts";
import type { Exchange } from "../../exchange.ts";
import type { Answer } from "../../responses.ts";
import type { Route } from "../../routes.ts";
import { escapeHtml } from "../html.ts";
import { absolute, type MarketSite, marketById, marketPath, routeForAll } from "./site.ts";

/** Of the frame, in CSS pixels, unless the consumer has less room. It cannot grow, so it has room for a long question. */
const WIDTH_PX = 640;
const HEIGHTS_PX = { market: 960, card: 290 };
/** In less height a market's card is shown, which has all in sight. */
const LEAST_MARKET_PX = 400;
/** The pictures that a consumer may show instead, the larger one first. */
const THUMBNAILS = [
  { file: "image.png", width: 1200, height: 630 },
  { file: "tile.png", width: 600, height: 400 },
] as const;
const CACHE_AGE_SEC = 300;
/** Scripts and the own origin, as in the loader's frames; source links open in a new tab. */
const SANDBOX = "allow-scripts allow-same-origin allow-forms allow-popups allow-popups-to-escape-sandbox";

/** `/oembed`, for programs that preview links. */
export const oembedRoute = (site: MarketSite): Route =>
  routeForAll("/oembed", (exchange) => oembedAnswer(site, exchange));

/**
 * oEmbed 1.0 (https://oembed.com) of type `rich`: the frame of the market that the page address names.
 * @throws Fault BAD_REQUEST without `url` or for a format other than JSON, NOT_FOUND if the address is not a market's page
 */
async function oembedAnswer(site: MarketSite, exchange: Exchange): Promise<Answer> {
  const query = new URLSearchParams(exchange.search);
  const address = query.get("url");
  if (!address) throw new Fault("BAD_REQUEST", "url: must be the address of a market's page");
  if ((query.get("format") ?? "json") !== "json") throw new Fault("BAD_REQUEST", "format: must be json");
  const { id, locale } = pageOf(site, exchange, address);
  const market = await marketById(site.handlers, id);
  const room = { width: roomIn(query, "maxwidth"), height: roomIn(query, "maxheight") };
  const view = room.height < LEAST_MARKET_PX ? "card" : "market";
  const width = Math.min(WIDTH_PX, room.width);
  const height = Math.min(HEIGHTS_PX[view], room.height);
  const thumbnail = THUMBNAILS.find((one) => one.width <= room.width && one.height <= room.height) ?? THUMBNAILS[1];
  const home = absolute(site, exchange, "/");
  const body = JSON.stringify({
    version: "1.0",
    type: "rich",
    title: market.question,
    provider_name: site.name,
    provider_url: home,
    html: frameMarkup(absolute(site, exchange, framePath(view, market.id, locale)), {
      width,
      height,
      title: market.question,
    }),
    width,
    height,
    thumbnail_url: absolute(site, exchange, `${marketPath(market.id)}/${thumbnail.file}`),
    thumbnail_width: thumbnail.width,
    thumbnail_height: thumbnail.height,
    cache_age: CACHE_AGE_SEC,
  });
  const tag = tagOf(body);
  const answer: Answer = {
    status: 200,
    body,
    contentType: "application/json",
    cacheControl: `public, max-age=${CACHE_AGE_SEC}`,
    headers: [...FOR_ALL, ["etag", tag]],
  };
  return unlessKnown(exchange, answer, tag);
}

function frameMarkup(src: string, { width, height, title }: { width: number; height: number; title: string }): string {
  return `<iframe src="${escapeHtml(src)}" width="${width}" height="${height}" title="${escapeHtml(title)}" sandbox="${SANDBOX}" loading="lazy" referrerpolicy="origin" style="border:0;max-width:100%"></iframe>`;
}

function framePath(view: keyof typeof HEIGHTS_PX, marketId: string, locale: string | null): string {
  return `/embed/${view}?${new URLSearchParams({ marketId, theme: "auto", ...(locale ? { locale } : {}) })}`;
}

/** The market and language of a page's address. @throws Fault NOT_FOUND */
function pageOf(site: MarketSite, exchange: Exchange, address: string): { id: string; locale: string | null } {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const segment = /^\/m\/([^/]+)\/?$/.exec(url?.pathname ?? "")?.[1];
  if (!url || url.origin !== new URL(absolute(site, exchange, "/")).origin || segment === undefined)
    throw new Fault("NOT_FOUND", "This is not the address of a market's page");
  try {
    return { id: decodeURIComponent(segment), locale: url.searchParams.get("locale") };
  } catch {
    throw new Fault("NOT_FOUND", "This is not the address of a market's page");
  }
}

/** The consumer's room; a value that is not a positive number counts as absent. */
function roomIn(query: URLSearchParams, name: string): number {
  const stated = Number(query.get(name) ?? Number.NaN);
  return stated >= 1 ? Math.floor(stated) : Number.POSITIVE_INFINITY;
}
