import { readPages } from "../../client/pages.ts";
import { STREAM_MARKETS } from "../../contract/constants.ts";
import type { Api, WireResult } from "../../contract/operations.ts";
import type { StreamEvent } from "../../contract/resources/stream.ts";
import { Fault } from "../../domain/fault.ts";
import { type CommandModule, type Io, withSession } from "../command.ts";
import { ASKS_TENANT } from "../errors.ts";
import { resolveId } from "../input/names.ts";
import { identifier } from "../input/parsers.ts";
import { orDash, outcomeText, price, time } from "../output/cells.ts";
import { areaChart, sparkline } from "../output/charts.ts";
import type { View } from "../output/output.ts";
import { type Watched, WatchedMarkets } from "./watched-markets.ts";

export interface WatchOptions {
  id?: string | undefined;
  events: (markets: readonly string[] | undefined) => AsyncIterable<StreamEvent>;
}

export const marketWatch: CommandModule = {
  register: (noun, host) =>
    host.add(
      noun
        .command("watch")
        .description("follow prices, trades and states as they happen, until Ctrl-C; prints lines of JSON in a pipe")
        .argument("[id]", "only this market: its id, an id prefix, its key or @last", identifier),
      {
        names: "event marketId yesPrice noPrice side amount shares yesPriceAfter status outcome id text ts markets",
        ends: ASKS_TENANT,
      },
      ({ options, args: [id], io, interrupts }) => {
        requireFormat(io);
        return withSession(options, io, async (session) => {
          const stopped = interrupts.take();
          const events = (markets: readonly string[] | undefined) => session.events(markets, stopped);
          const api = session.api();
          const market = id === undefined ? undefined : await resolveId("market", id, api, session);
          return runMarketWatch({ id: market, events }, api, io);
        });
      },
    ),
};

/** An endless stream is a live table on a terminal and lines of JSON elsewhere: the other formats need an end. */
function requireFormat({ output }: Io): void {
  if (output.isLive || output.format === "json" || output.format === "ndjson") return;
  throw new Fault("USAGE", `market watch prints a table on a terminal and ndjson elsewhere, not ${output.format}`);
}

/**
 * Follows the events until the operator ends the watch.
 * @throws Fault MARKET_NOT_FOUND before the watch begins
 */
export async function runMarketWatch({ id, events }: WatchOptions, api: Api, io: Io): Promise<void> {
  requireFormat(io);
  const { output } = io;
  const markets = id === undefined ? undefined : [id];
  const named = id === undefined ? undefined : await api.getMarket({ id });
  if (!output.isLive) {
    for await (const { event, data } of events(markets)) output.line({ event, ...data });
    return;
  }
  const watched = new WatchedMarkets();
  output.enterScreen();
  try {
    for await (const event of events(markets)) {
      watched.take(event);
      await nameMarkets(watched, api, named);
      output.redraw(id === undefined ? watched.all : watched.all.slice(0, 1), id === undefined ? listView : oneView);
    }
  } finally {
    output.leaveScreen();
  }
}

/** Events carry no questions, so they are read once, and again when a market appears. */
async function nameMarkets(
  watched: WatchedMarkets,
  api: Api,
  named: WireResult<"getMarket"> | undefined,
): Promise<void> {
  if (named) return watched.name([named]);
  const unnamed = watched.unnamed;
  if (unnamed.length === 0) return;
  if (unnamed.length === 1) return watched.name([await api.getMarket({ id: unnamed[0] ?? "" })]);
  watched.name((await readPages(STREAM_MARKETS, (page) => api.listMarkets(page))).items);
}

const change = ({ prices }: Watched): string => {
  const points = Math.round(((prices.at(-1) ?? 0) - (prices[0] ?? 0)) * 1000) / 1000;
  return points === 0 ? "" : `${points > 0 ? "+" : ""}${points.toFixed(3)}`;
};

const listView: View<readonly Watched[], Watched> = {
  kind: "list",
  rows: (markets) => markets,
  columns: [
    { title: "QUESTION", cell: ({ question, marketId }) => question ?? marketId, least: 12 },
    { title: "STATUS", cell: ({ status }) => status, whole: true, optional: true },
    { title: "YES", cell: ({ yesPrice }) => price(yesPrice), align: "right" },
    { title: "CHANGE", cell: change, align: "right" },
    { title: "SINCE THE START", cell: ({ prices }) => sparkline(prices, Math.min(prices.length, 16)), picture: true },
    { title: "LAST TRADE", cell: ({ lastTrade }) => orDash(lastTrade), optional: true },
  ],
  empty: "No market is open.",
};

const oneView: View<readonly Watched[], Watched> = {
  kind: "record",
  fields: ([market]) =>
    market
      ? [
          ["market", market.marketId],
          ["question", orDash(market.question)],
          ["status", market.outcome ? `${market.status}: ${outcomeText(market.outcome)}` : market.status],
          ["yes", `${price(market.yesPrice)} ${change(market)}`.trimEnd()],
          ["no", price(1 - market.yesPrice)],
          ["closes", market.closeAt ? time(market.closeAt) : "-"],
          ...market.trades.map((trade, index): [string, string] => [index === 0 ? "trades" : "", trade]),
        ]
      : [],
  picture: ([market], width) => (market ? areaChart(market.prices, width) : ""),
};
