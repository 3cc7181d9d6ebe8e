import type { Command } from "commander";
import type { Api, WireResult } from "../../contract/operations.ts";
import { type CommandContext, type Host, type Io, withSession } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import { identifier } from "../input/parsers.ts";
import { cents, price, time } from "../output/cells.ts";
import { areaChart, barOf } from "../output/charts.ts";
import type { View } from "../output/output.ts";
import { chooseMarket, openMarkets, requireMarketId } from "./market-choice.ts";

type Point = WireResult<"getMarketHistory">[number];
type Depth = WireResult<"getMarketDepth">;
type Level = Depth["yes"][number] & { side: "yes" | "no" };
type Trending = WireResult<"listTrendingMarkets">[number];

/** The verbs of `market` that show how it trades. */
export function registerLooks(noun: Command, host: Host): void {
  noun
    .command("history")
    .description("prices by the hour, from creation to now or settlement")
    .argument("[id]", "the market's id, as `market list` shows it; on a terminal it can be chosen", identifier)
    .action(host.action((context) => onMarket(context, "market history", runMarketHistory)));
  noun
    .command("depth")
    .description("shares on offer, cent by cent")
    .argument("[id]", "the market's id, as `market list` shows it; on a terminal it can be chosen", identifier)
    .action(host.action((context) => onMarket(context, "market depth", runMarketDepth)));
  noun
    .command("trending")
    .description("the 20 open markets with the largest 24-hour volume")
    .action(
      host.action(({ options, io }) => withSession(options, io, (session) => runMarketTrending({}, session.api(), io))),
    );
}

/** Runs a command on the market that the line names, or else on the one that somebody at the terminal chooses. */
export function onMarket(
  { options, args, io }: Pick<CommandContext<object>, "options" | "args" | "io">,
  command: string,
  run: (options: { id: string }, api: Api, io: Io) => Promise<ExitCode>,
  offered = openMarkets,
): Promise<ExitCode> {
  requireMarketId(args[0], io, command);
  return withSession(options, io, async (session) => {
    const api = session.api();
    return run({ id: args[0] ?? (await chooseMarket(api, io, offered)) }, api, io);
  });
}

const historyView: View<readonly Point[], Point> = {
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
};

const depthView: View<Depth, Level> = {
  kind: "list",
  rows: ({ yes, no }) => [
    ...yes.map((level) => ({ side: "yes" as const, ...level })),
    ...no.map((level) => ({ side: "no" as const, ...level })),
  ],
  columns: [
    { title: "SIDE", cell: ({ side }) => side },
    { title: "UP TO", cell: (level) => price(level.price), align: "right" },
    { title: "SHARES", cell: ({ size }) => cents(size), align: "right" },
    { title: "", cell: barOf(({ size }) => size), picture: true },
  ],
  empty: "Nothing is on offer: the market takes no trades.",
};

const trendingView: View<readonly Trending[], Trending> = {
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
};

export async function runMarketHistory(options: { id: string }, api: Api, { output }: Io): Promise<ExitCode> {
  await output.print(await api.getMarketHistory(options), historyView);
  return EXIT.ok;
}

export async function runMarketDepth(options: { id: string }, api: Api, { output }: Io): Promise<ExitCode> {
  await output.print(await api.getMarketDepth(options), depthView);
  return EXIT.ok;
}

export async function runMarketTrending(_: object, api: Api, { output }: Io): Promise<ExitCode> {
  await output.print(await api.listTrendingMarkets({}), trendingView);
  return EXIT.ok;
}
