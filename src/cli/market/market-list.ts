import { type Command, Option } from "commander";
import { RECENT_MARKETS } from "../../contract/constants.ts";
import type { Api, WireResult } from "../../contract/operations.ts";
import { MARKET_KINDS, type MarketKind } from "../../domain/market/market-makers.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import type { CommandContext, Io } from "../command.ts";
import { defineList } from "../define-command.ts";
import { shortIds } from "../input/names.ts";
import { statusWords } from "../input/parsers.ts";
import { cents, price, resultWord } from "../output/cells.ts";
import { sparkline } from "../output/charts.ts";
import type { View } from "../output/output.ts";
import { instantColumn } from "../output/table.ts";

type MarketItem = WireResult<"listMarkets">["items"][number];

interface MarketFilter {
  status?: string;
  category?: string;
  kind?: MarketKind;
  q?: string;
}

/** The default of lists: every market with money in it. */
export const UNSETTLED = "unsettled";

/** `--status` of the commands that list markets. */
export function statusOption(): Option {
  return new Option(
    "--status <words>",
    "open, suspended, closed, settled, unsettled, all or waiting (for a person); several with commas (default: unsettled)",
  ).argParser(statusWords);
}

const narrowed = (command: Command) =>
  command
    .addOption(statusOption())
    .option("--category <slug>", "only this category")
    .addOption(new Option("--kind <kind>", "only this kind").choices(MARKET_KINDS));

const filterOf = ({ status = UNSETTLED, category, kind, q }: MarketFilter) => ({ status, category, kind, q });

export const marketList = defineList({
  name: "list",
  summary: "list markets that are not settled, or those in other states, by closing time",
  takes: (command) => narrowed(command).option("--q <words>", "search in questions and descriptions"),
  operation: "listMarkets",
  input: ({ options }: CommandContext<MarketFilter>) => filterOf(options),
  view: listView,
});

export const marketSearch = defineList({
  name: "search",
  summary: "list markets whose question or description has these words",
  takes: (command) => narrowed(command).argument("<words...>", "the words to look for"),
  operation: "listMarkets",
  input: ({ options, args }: CommandContext<MarketFilter>) => filterOf({ ...options, q: args.join(" ") }),
  view: listView,
});

/** At 80 columns shows what tells markets apart, and their prices; shows more where there is room. */
async function listView(
  markets: readonly MarketItem[],
  api: Api,
  io: Io,
): Promise<View<readonly MarketItem[], MarketItem>> {
  const ids = markets.map(({ id }) => id);
  const isTable = io.output.format === "table";
  const [lines, short, holds] = await Promise.all([
    recentLines(ids, api, io),
    isTable ? shortIds("market", ids, api) : new Map<string, string>(),
    isTable && markets.some(({ status }) => status === "closed") ? api.listHeldMarkets({}) : [],
  ]);
  const held = new Set(holds.map(({ marketId }) => marketId));
  return {
    kind: "list",
    rows: (rows) => rows,
    columns: [
      { title: "QUESTION", cell: ({ question }) => question, least: 35, wanted: 60 },
      { title: "STATUS", cell: (market) => (held.has(market.id) ? "held" : stateOf(market)), whole: true },
      instantColumn("CLOSES", ({ closeAt }) => closeAt, { now: wallClockMs(), whole: true }),
      { title: "ID", cell: ({ id }) => short.get(id) ?? id, whole: true },
      { title: "YES", cell: ({ yesPrice }) => price(yesPrice), align: "right", optional: true, telling: true },
      { title: "KEY", cell: ({ key }) => key ?? "-", whole: true, optional: true, telling: true },
      { title: "VOLUME 24H", cell: ({ volume24h }) => cents(volume24h), align: "right", optional: true },
      { title: "LAST DAY", cell: ({ id }) => sparkline(lines.get(id) ?? [], 12), picture: true },
      { title: "CATEGORY", cell: ({ category }) => category, optional: true },
      { title: "KIND", cell: ({ kind }) => kind, optional: true },
    ],
    empty: "No market matches.",
  };
}

/** The outcome stands for `settled`, as `held` does for `closed`: both say more in the same room. */
function stateOf({ status = "open", outcome }: MarketItem): string {
  return outcome ? resultWord(outcome) : status;
}

/** The last day's prices by market, from one request for all; empty unless they are drawn. */
export async function recentLines(
  ids: readonly string[],
  api: Api,
  { output }: Io,
): Promise<Map<string, readonly number[]>> {
  if (!output.showsPictures || ids.length === 0) return new Map();
  const recent = await api.listRecentPrices({ ids: ids.slice(0, RECENT_MARKETS).join(",") });
  return new Map(recent.map(({ id, yes }) => [id, yes]));
}
