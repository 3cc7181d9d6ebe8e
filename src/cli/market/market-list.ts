import { type Command, Option } from "commander";
import type { Api, WireResult } from "../../contract/operations.ts";
import { RECENT_MARKETS } from "../../contract/resources/markets.ts";
import { MARKET_KINDS, type MarketKind } from "../../domain/market/market-makers.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { type Host, type Io, withSession } from "../command.ts";
import { shortIds } from "../input/names.ts";
import { DEFAULT_LIMIT, limitOption, readPages } from "../input/paging.ts";
import { statusWords } from "../input/parsers.ts";
import { cents, price } from "../output/cells.ts";
import { sparkline } from "../output/charts.ts";
import type { View } from "../output/output.ts";
import { instantColumn } from "../output/table.ts";

type MarketItem = WireResult<"listMarkets">["items"][number];

export interface ListOptions {
  status?: string | undefined;
  category?: string | undefined;
  kind?: MarketKind | undefined;
  q?: string | undefined;
  limit?: number | undefined;
}

/** What lists show unless they are asked for more: every market with money in it. */
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
    .addOption(new Option("--kind <kind>", "only this kind").choices(MARKET_KINDS))
    .addOption(limitOption());

export function registerList(noun: Command, host: Host): void {
  host.add<ListOptions>(
    narrowed(
      noun.command("list").description("markets that are not settled, or those in other states, by closing time"),
    ).option("--q <words>", "search in questions and descriptions"),
    { operation: "listMarkets" },
    ({ options, io }) => withSession(options, io, (session) => runMarketList(options, session.api(), io)),
  );
  host.add<ListOptions>(
    narrowed(
      noun
        .command("search")
        .description("markets whose question or description has these words")
        .argument("<words...>", "what to look for"),
    ),
    { operation: "listMarkets" },
    ({ options, args, io }) =>
      withSession(options, io, (session) => runMarketList({ ...options, q: args.join(" ") }, session.api(), io)),
  );
}

export async function runMarketList(options: ListOptions, api: Api, io: Io): Promise<void> {
  const { output } = io;
  const { status = UNSETTLED, category, kind, q, limit = DEFAULT_LIMIT } = options;
  const { items: markets, nextCursor } = await readPages(limit, (page) =>
    api.listMarkets({ status, category, kind, q, ...page }),
  );
  const ids = markets.map(({ id }) => id);
  const [lines, short] = await Promise.all([
    recentLines(ids, api, io),
    output.format === "table" ? shortIds("market", ids, api) : new Map<string, string>(),
  ]);
  await output.print(markets, listView({ lines, short, now: wallClockMs() }));
  if (nextCursor !== null) output.note(`There are more than these ${markets.length}: raise --limit.`);
}

/** What a table shows beside the markets themselves. */
interface Extras {
  /** The last day's prices by market; empty where they are not drawn. */
  lines: ReadonlyMap<string, readonly number[]>;
  /** Beginnings of ids that commands take. */
  short: ReadonlyMap<string, string>;
  /** Milliseconds since the epoch. */
  now: number;
}

/** At 80 columns what tells markets apart and what they trade at; more as there is room. */
const listView = ({ lines, short, now }: Extras): View<readonly MarketItem[], MarketItem> => ({
  kind: "list",
  rows: (markets) => markets,
  columns: [
    { title: "QUESTION", cell: ({ question }) => question, least: 35, wanted: 60 },
    { title: "STATUS", cell: stateOf, whole: true },
    instantColumn("CLOSES", ({ closeAt }) => closeAt, { now, whole: true }),
    { title: "ID", cell: ({ id }) => short.get(id) ?? id, whole: true },
    { title: "YES", cell: ({ yesPrice }) => price(yesPrice), align: "right", optional: true, telling: true },
    { title: "KEY", cell: ({ key }) => key ?? "-", whole: true, optional: true, telling: true },
    { title: "VOLUME 24H", cell: ({ volume24h }) => cents(volume24h), align: "right", optional: true },
    { title: "LAST DAY", cell: ({ id }) => sparkline(lines.get(id) ?? [], 12), picture: true },
    { title: "CATEGORY", cell: ({ category }) => category, optional: true },
    { title: "KIND", cell: ({ kind }) => kind, optional: true },
  ],
  empty: "No market matches.",
});

/** The outcome stands for `settled`, and the hold for `closed`: both say more in the same room. */
function stateOf({ status, outcome, waitingFor }: MarketItem): string {
  if (outcome) return `${outcome.toUpperCase()} won`;
  return waitingFor === "oracle" ? "held" : (status ?? "open");
}

/** The last day's prices by market, one request for all of them; none unless they are going to be drawn. */
export async function recentLines(
  ids: readonly string[],
  api: Api,
  { output }: Io,
): Promise<Map<string, readonly number[]>> {
  if (!output.showsPictures || ids.length === 0) return new Map();
  const recent = await api.listRecentPrices({ ids: ids.slice(0, RECENT_MARKETS).join(",") });
  return new Map(recent.map(({ id, yes }) => [id, yes]));
}
