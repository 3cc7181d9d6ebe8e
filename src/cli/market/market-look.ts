import { defineCommand } from "../define-command.ts";
import { cents, price, time } from "../output/cells.ts";
import { areaChart, barOf } from "../output/charts.ts";
import { marketArgument } from "./market-choice.ts";

export const marketHistory = defineCommand({
  ...marketArgument("history"),
  name: "history",
  summary: "prices by the hour, from creation to now or settlement",
  operation: "getMarketHistory",
  view: {
    kind: "list",
    rows: (points) => points,
    columns: [
      { title: "TIME", cell: ({ t }) => time(t), whole: true },
      { title: "YES", cell: ({ yes }) => price(yes), align: "right" },
      { title: "NO", cell: ({ no }) => price(no), align: "right" },
    ],
    empty: "No prices.",
    picture: (points, width) =>
      areaChart(
        points.map(({ yes }) => yes),
        width,
      ),
  },
});

export const marketDepth = defineCommand({
  ...marketArgument("depth"),
  name: "depth",
  summary: "shares on offer, cent by cent",
  operation: "getMarketDepth",
  prints: { names: "side price size" },
  view: {
    kind: "list",
    rows: ({ yes, no }) => [
      ...yes.map((level) => ({ side: "yes", ...level })),
      ...no.map((level) => ({ side: "no", ...level })),
    ],
    columns: [
      { title: "SIDE", cell: ({ side }) => side },
      { title: "UP TO", cell: (level) => price(level.price), align: "right" },
      { title: "SHARES", cell: ({ size }) => cents(size), align: "right" },
      { title: "", cell: barOf(({ size }) => size), picture: true },
    ],
    empty: "Nothing is on offer: the market takes no trades.",
  },
});

export const marketTrending = defineCommand({
  name: "trending",
  summary: "the 20 open markets with the largest 24-hour volume",
  operation: "listTrendingMarkets",
  input: () => ({}),
  view: {
    kind: "list",
    rows: (markets) => markets,
    columns: [
      { title: "ID", cell: ({ id }) => id, whole: true },
      { title: "QUESTION", cell: ({ question }) => question, least: 16 },
      { title: "YES", cell: ({ yesPrice }) => price(yesPrice), align: "right" },
      { title: "VOLUME 24H", cell: ({ volume24h }) => cents(volume24h), align: "right", optional: true },
      { title: "", cell: barOf(({ volume24h }) => volume24h), picture: true },
    ],
    empty: "No market is open.",
  },
});
