import { FOR_ALL, unlessKnown } from "../../conditional.ts";
import type { Exchange } from "../../exchange.ts";
import type { Answer } from "../../responses.ts";
import type { Route } from "../../routes.ts";
import { marketDrawing } from "./market-drawing.ts";
import { Painter } from "./picture/painter.ts";
import type { Drawing } from "./picture/svg.ts";
import { type MarketSite, readMarket, routeForAll } from "./site.ts";

/** How many seconds a picture may show an old price. */
const MAX_AGE_SEC = 30;
/** All tenants of a process share one drawing thread. */
const painter = new Painter();

/** `/m/:id/image.png` for link previews and `/m/:id/tile.png` for newsletters: pictures of the market's current state. */
export function pictureRoutes(site: MarketSite): Route[] {
  return (["image", "tile"] as const).map((size) =>
    routeForAll(`/m/:id/${size}.png`, (exchange) => pictureAnswer(site, exchange, size)),
  );
}

async function pictureAnswer(site: MarketSite, exchange: Exchange, size: Drawing["size"]): Promise<Answer> {
  const market = await readMarket(site, exchange);
  const prices = await site.curveOf(market.id);
  const scheme = new URLSearchParams(exchange.search).get("theme") === "light" ? "light" : "dark";
  const { name, theme } = site;
  const drawing = marketDrawing(site.readers.speakerOf(exchange), market, prices, { size, scheme, name, theme });
  // A tag of the drawing's data, so that a client that has the picture costs no drawing.
  const tag = `W/"${painter.nameOf(drawing)}"`;
  const answer: Answer = {
    status: 200,
    body: "",
    contentType: "image/png",
    cacheControl: `public, max-age=${MAX_AGE_SEC}`,
    headers: [...FOR_ALL, ["vary", "Accept-Language"], ["etag", tag]],
  };
  const known = unlessKnown(exchange, answer, tag);
  return known.status === 304 ? known : { ...answer, body: await painter.paint(drawing, exchange.address) };
}
