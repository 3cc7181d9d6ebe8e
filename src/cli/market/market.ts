import { type Command, Option } from "commander";
import type { Api, WireResult } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { MARKET_KINDS } from "../../domain/market/market-makers.ts";
import { type Host, type Io, withSession } from "../command.ts";
import { defineCommand } from "../define-command.ts";
import { dollars, identifier, jsonObject, sharePrice, timeAhead } from "../input/parsers.ts";
import { cents, instant, orDash, price, time, usd } from "../output/cells.ts";
import { areaChart, barOf, sparkline } from "../output/charts.ts";
import type { View } from "../output/output.ts";
import { marketArgument, marketsIn } from "./market-choice.ts";
import type { MarketFlags } from "./market-input.ts";
import { recentLines, registerList } from "./market-list.ts";
import { registerSettle } from "./market-settle.ts";
import { registerWatch } from "./market-watch.ts";

type MarketDetail = WireResult<"getMarket">;
type Created = WireResult<"createMarket">;
type StatusChange = WireResult<"suspendMarket">;

export function register(noun: Command, host: Host): void {
  registerList(noun, host);
  const { takes, check, input } = marketArgument("show");
  const show = noun.command("show").description("one market");
  host.add(takes(show), { operation: "getMarket" }, (context) => {
    check(context);
    const { options, io } = context;
    return withSession(options, io, async (session) => {
      const api = session.api();
      return runMarketShow(await input(context, api, session), api, io);
    });
  });
  for (const command of [marketHistory, marketDepth, marketTrending]) command.register(noun, host);
  registerCreate(noun, host);
  for (const command of [marketSuspend, marketResume]) command.register(noun, host);
  registerSettle(noun, host);
  registerWatch(noun, host);
}

function registerCreate(noun: Command, host: Host): void {
  host.add<MarketFlags>(
    noun
      .command("create")
      .description(
        "open a market, from options or from a file with one market; asks on a terminal for what is left out",
      )
      .option("-f, --file <file>", "a market file, as in tenants/<id>/markets/; - reads the standard input")
      .option(
        "--key <key>",
        "a name that no other market has; again with the same terms, it names that market",
        identifier,
      )
      .option("--question <text>", "what traders are asked")
      .option("--category <slug>", "such as crypto")
      .addOption(new Option("--kind <kind>", "the mechanism").choices(MARKET_KINDS))
      .option("--p0 <price>", "first price of YES, 0.001 to 0.999", sharePrice)
      .option(
        "--close-at <time>",
        "when trading ends: 2h, 2030-01-31T18:00:00Z or tomorrow 18:00 Europe/Berlin",
        timeAhead,
      )
      .option("--resolution-ref <text>", "what decides it, such as `pm:btc > 100000`")
      .option("--meta <json>", "anything else, a JSON object", jsonObject)
      .option("--liquidity <usd>", "what the house risks at most; else the tenant's default", dollars),
    { operation: "createMarket" },
    async ({ options, io }) => {
      // Before the tenant is opened: what is wrong with the input needs no server to say so.
      const { isIncomplete, marketInput } = await import("./market-input.ts");
      const { readStandardInput, STANDARD_INPUT } = await import("../input/standard-input.ts");
      const asks = isIncomplete(options) && io.prompts.available && !options.yes;
      const text = options.file === STANDARD_INPUT.option ? await readStandardInput() : "";
      const stated = asks ? undefined : marketInput(options, text);
      // Here `--key` names the market, not the admin key to show a server, which is the file's first.
      let isCreated = false;
      const onSealed = () => {
        isCreated = true;
      };
      return withSession({ ...options, key: undefined }, { ...io, onSealed }, async (session) => {
        const [{ marketWarnings }, { unknownFeed }, { feedsThatSettle }, { keepLastMarket }] = await Promise.all([
          import("../../app/apply/market-warnings.ts"),
          import("../../config/tenant-files/market-files.ts"),
          import("../../config/tenant-file.ts"),
          import("../../app/tenant/last-market.ts"),
        ]);
        const wizard = asks ? await import("./market-wizard.ts") : undefined;
        const { config } = session.tenant;
        const { liquidityUsd } = config.markets;
        const checkReference = (resolutionRef: string, meta?: Readonly<Record<string, unknown>>) => {
          const [unknown] = unknownFeed({ resolutionRef, meta }, feedsThatSettle(config), []);
          if (unknown) throw new Fault("USAGE", `resolutionRef: ${unknown.message}`);
        };
        const input =
          stated ?? marketInput((await wizard?.askMarket(options, { liquidityUsd, checkReference }, io)) ?? options);
        checkReference(input.resolutionRef, input.meta);
        for (const warning of await marketWarnings(input, session)) io.output.note(warning);
        await wizard?.confirmMarket(input, liquidityUsd, session.api(), io);
        return runMarketCreate(input, session.api(), io, async (id) => {
          // A key that was taken on equal terms answers the market that has it, and creates none.
          if (isCreated) await keepLastMarket(session.tenant, id);
        });
      });
    },
  );
}

const detailView = (line: readonly number[]): View<MarketDetail, MarketDetail> => ({
  kind: "record",
  fields: (market) => [
    ["id", market.id],
    ["key", orDash(market.key)],
    ["question", market.question],
    ["status", market.outcome === null ? market.status : `${market.status}: ${market.outcome}`],
    ["yes", price(market.yesPrice)],
    ["no", price(market.noPrice)],
    ...(line.length > 1 ? [["last day", sparkline(line, 24)] as const] : []),
    ["volume", usd(market.volume)],
    ["category", market.category],
    ["kind", market.kind],
    ["resolution", market.resolutionRef],
    ["meta", Object.keys(market.meta).length === 0 ? "-" : JSON.stringify(market.meta)],
    ["created", time(market.createdAt, { seconds: true })],
    ["closes", instant(market.closeAt)],
    ["settled", orDash(market.settledAt && time(market.settledAt, { seconds: true }))],
  ],
});

const createdView: View<Created, Created> = {
  kind: "record",
  fields: ({ id, status, yesPrice, createdAt }) => [
    ["id", id],
    ["status", status],
    ["yes", price(yesPrice)],
    ["created", time(createdAt, { seconds: true })],
  ],
};

const statusView: View<StatusChange, StatusChange> = {
  kind: "record",
  fields: ({ id, status }) => [
    ["id", id],
    ["status", status],
  ],
};

export const marketSuspend = defineCommand({
  ...marketArgument("suspend", marketsIn("open")),
  name: "suspend",
  summary: "halt trading at once; never asks for a confirmation",
  operation: "suspendMarket",
  view: statusView,
});

export const marketResume = defineCommand({
  ...marketArgument("resume", marketsIn("suspended")),
  name: "resume",
  summary: "let a suspended market trade again",
  operation: "resumeMarket",
  view: statusView,
});

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
  prints: { names: "side price size", each: true },
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

export async function runMarketShow({ id }: { id: string }, api: Api, io: Io): Promise<void> {
  const market = await api.getMarket({ id });
  const lines = await recentLines([id], api, io);
  await io.output.print(market, detailView(lines.get(id) ?? []));
  const [hold] = market.status === "closed" ? await api.listHeldMarkets({ marketId: market.id }) : [];
  if (hold)
    io.output.note(
      `The oracle holds this market since ${time(hold.heldAt, { seconds: true })}: ${hold.reason} (${hold.detail}). ` +
        "It tries again at each sweep; pmctl market settle ends it by hand.",
    );
}

/** @param remember keeps the id for `@last`, before anything else can fail */
export async function runMarketCreate(
  input: Parameters<Api["createMarket"]>[0],
  api: Api,
  { output }: Io,
  remember: (id: string) => Promise<void> = async () => {},
): Promise<void> {
  const created = await api.createMarket(input);
  await remember(created.id);
  await output.print(created, createdView);
}
