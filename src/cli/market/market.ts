import { type Command, Option } from "commander";
import type { Api, WireResult } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { MARKET_KINDS } from "../../domain/market/market-makers.ts";
import { type CommandContext, type Globals, type Host, withSession } from "../command.ts";
import { defineCommand, defineList, verbs } from "../define-command.ts";
import { ASKS_TENANT, NOT_CONFIRMED } from "../errors.ts";
import { dollars, identifier, jsonObject, sharePrice, timeAhead } from "../input/parsers.ts";
import { cents, instant, orDash, outcomeText, outcomeWords, price, shares, time, usd } from "../output/cells.ts";
import { areaChart, barOf, sparkline } from "../output/charts.ts";
import { nestedField } from "../output/nested.ts";
import type { Field } from "../output/table.ts";
import { marketArgument, marketsIn } from "./market-choice.ts";
import { clarifiedFields, marketClarify } from "./market-clarify.ts";
import { marketCorrect } from "./market-correct.ts";
import type { MarketFlags } from "./market-input.ts";
import { marketList, marketSearch, recentLines } from "./market-list.ts";
import { marketSettle } from "./market-settle.ts";
import { marketVoid } from "./market-void.ts";
import { marketWatch } from "./market-watch.ts";

export const marketShow = defineCommand({
  ...marketArgument("show"),
  name: "show",
  summary: "show one market",
  operation: "getMarket",
  view: async ({ id }, api, io) => {
    const line = (await recentLines([id], api, io)).get(id) ?? [];
    return { kind: "record", fields: (market) => detailFields(market, line) };
  },
  after: async ({ id, status }, { output }, api) => {
    const proposal = status === "suspended" ? await lastProposal(api, id) : undefined;
    if (proposal?.status === "pending")
      output.note(
        `A proposal to ${proposal.kind} this market waits: pmctl proposal show ${proposal.proposalId}. Until it is decided, the market takes no trades.`,
      );
    const [hold] = status === "closed" ? await api.listHeldMarkets({ marketId: id }) : [];
    if (hold)
      output.note(
        `The oracle holds this market since ${time(hold.heldAt, { seconds: true })}: ${hold.reason} (${hold.detail}). ` +
          "It tries again at each sweep; pmctl market settle ends it by hand.",
      );
  },
});

/** The last proposal about a market, as everyone may read it; undefined for none. */
async function lastProposal(api: Api, id: string): Promise<WireResult<"getMarketProposal"> | undefined> {
  try {
    return await api.getMarketProposal({ id });
  } catch (error) {
    if (error instanceof Fault && error.code === "NOT_FOUND") return undefined;
    throw error;
  }
}

const detailFields = (market: WireResult<"getMarket">, line: readonly number[]): Field[] => [
  ["id", market.id],
  ["key", orDash(market.key)],
  ["question", market.question],
  ["status", market.outcome === null ? market.status : `${market.status}: ${outcomeWords(market.outcome)}`],
  ...(market.reason !== null && market.corrections.length === 0 ? [["because", market.reason] as Field] : []),
  ...market.corrections.map(({ from, to, at, reason }): Field => {
    const [was, is] = [outcomeText(from), outcomeText(to)];
    return ["corrected", `from ${was} to ${is} at ${time(at, { seconds: true })}: ${reason}`];
  }),
  ["yes", price(market.yesPrice)],
  ["no", price(market.noPrice)],
  ...(line.length > 1 ? [["last day", sparkline(line, 24)] as [string, string]] : []),
  ["volume", usd(market.volume)],
  ["category", market.category],
  ["kind", market.kind],
  ["resolution", market.resolutionRef],
  Object.keys(market.meta).length === 0 ? ["meta", "-"] : nestedField("meta", market.meta),
  ["created", time(market.createdAt, { seconds: true })],
  ["closes", instant(market.closeAt)],
  ["settled", orDash(market.settledAt && time(market.settledAt, { seconds: true }))],
  ...clarifiedFields(market),
];

type CreateFlags = MarketFlags & { adminKey?: string };

/** Opens the market that the line, a file or the operator states. */
async function createMarket({ options, io }: CommandContext<CreateFlags>): Promise<void> {
  // Before the tenant is opened, since checking the input needs no server.
  const { isIncomplete, marketInput } = await import("./market-input.ts");
  const { readStandardInput, STANDARD_INPUT } = await import("../input/standard-input.ts");
  const asks = isIncomplete(options) && io.prompts.available && !options.yes;
  const text = options.file === STANDARD_INPUT.option ? await readStandardInput() : "";
  const stated = asks ? undefined : marketInput(options, text);
  let isCreated = false;
  const onSealed = () => {
    isCreated = true;
  };
  // `--key` names the market here, so another option chooses the admin key for a server.
  const asked: Globals = { ...options, key: options.adminKey };
  return withSession(asked, { ...io, onSealed }, async (session) => {
    const [{ marketWarnings }, { unknownFeed }, { feedsThatSettle }, { keepLastMarket }] = await Promise.all([
      import("../../app/apply/plan-tenant.ts"),
      import("../../config/tenant-files/market-files.ts"),
      import("../../config/tenant-file.ts"),
      import("../../app/tenant/last-market.ts"),
    ]);
    const wizard = asks ? await import("./market-wizard.ts") : undefined;
    const api = session.api();
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
    await wizard?.confirmMarket(input, liquidityUsd, api, io);
    const created = await api.createMarket(input);
    // A market with this key and equal terms exists already: the answer is that market, and none was created.
    if (isCreated) await keepLastMarket(session.tenant, created.id);
    await io.output.print(created, {
      kind: "record",
      fields: ({ id, status, yesPrice, createdAt }) => [
        ["id", id],
        ["status", status],
        ["yes", price(yesPrice)],
        ["created", time(createdAt, { seconds: true })],
      ],
    });
  });
}

const marketCreate = {
  register: (noun: Command, host: Host) =>
    host.add<CreateFlags>(
      noun
        .command("create")
        .description(
          "create a market, from options or from a file with one market; asks on a terminal for what is missing",
        )
        .option("-f, --file <file>", "a market file, as in tenants/<id>/markets/; - reads the standard input")
        .option(
          "--key <key>",
          "the market's key, a name that no other market has; a repeat with the same terms returns the same market",
          identifier,
        )
        .option(
          "--admin-key <name>",
          "the admin key of the tenant file to use with a server: elsewhere --key, which names the market here",
          identifier,
        )
        .option("--question <text>", "the question that traders answer")
        .option("--category <slug>", "the category, such as crypto")
        .addOption(new Option("--kind <kind>", "the mechanism").choices(MARKET_KINDS))
        .option("--p0 <price>", "first price of YES, 0.001 to 0.999", sharePrice)
        .option(
          "--close-at <time>",
          "when trading ends: 2h, 2030-01-31T18:00:00Z or tomorrow 18:00 Europe/Berlin",
          timeAhead,
        )
        .option("--resolution-ref <text>", "what decides the market, such as `pm:btc > 100000`")
        .option("--meta <json>", "further data, as a JSON object", jsonObject)
        .option("--liquidity <usd>", "the most that the house can lose (default: the tenant's)", dollars),
      { operation: "createMarket", ends: { 3: NOT_CONFIRMED } },
      createMarket,
    ),
};

const statusFields = ({ id, status }: WireResult<"suspendMarket">): [string, string][] => [
  ["id", id],
  ["status", status],
];

export const marketSuspend = defineCommand({
  ...marketArgument("suspend", marketsIn("open")),
  name: "suspend",
  summary: "halt trading at once; never asks for a confirmation",
  operation: "suspendMarket",
  fields: statusFields,
});

const marketResume = defineCommand({
  ...marketArgument("resume", marketsIn("suspended")),
  name: "resume",
  summary: "let a suspended market trade again",
  operation: "resumeMarket",
  fields: statusFields,
});

export const marketHistory = defineCommand({
  ...marketArgument("history"),
  name: "history",
  summary: "show prices by the hour, from creation to now or settlement",
  operation: "getMarketHistory",
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
});

export const marketDepth = defineCommand({
  ...marketArgument("depth"),
  name: "depth",
  summary: "show shares on offer, cent by cent",
  operation: "getMarketDepth",
  prints: { names: "side price size", ends: ASKS_TENANT, each: true },
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
});

const marketPositions = defineList({
  ...marketArgument("positions"),
  name: "positions",
  summary: "list who holds shares of a market, the largest position first",
  operation: "listMarketPositions",
  columns: [
    { title: "USER", cell: ({ userId }) => userId, whole: true },
    { title: "YES", cell: ({ yesShares }) => shares(yesShares), align: "right" },
    { title: "COST", cell: ({ yesCost }) => usd(yesCost), align: "right", optional: true },
    { title: "NO", cell: ({ noShares }) => shares(noShares), align: "right" },
    { title: "COST", cell: ({ noCost }) => usd(noCost), align: "right", optional: true },
    { title: "VALUE", cell: ({ value }) => usd(value), align: "right" },
    { title: "IF YES", cell: ({ yesPayout }) => usd(yesPayout), align: "right", optional: true },
    { title: "IF NO", cell: ({ noPayout }) => usd(noPayout), align: "right", optional: true },
  ],
  empty: "No user holds shares of the market.",
});

export const marketTrending = defineCommand({
  name: "trending",
  summary: "list the 20 open markets with the largest 24-hour volume",
  operation: "listTrendingMarkets",
  columns: [
    { title: "ID", cell: ({ id }) => id, whole: true },
    { title: "QUESTION", cell: ({ question }) => question, least: 16 },
    { title: "YES", cell: ({ yesPrice }) => price(yesPrice), align: "right" },
    { title: "VOLUME 24H", cell: ({ volume24h }) => cents(volume24h), align: "right", optional: true },
    { title: "", cell: barOf(({ volume24h }) => volume24h), picture: true },
  ],
  empty: "No market is open.",
});

export const register = verbs(
  marketList,
  marketSearch,
  marketShow,
  marketHistory,
  marketDepth,
  marketPositions,
  marketTrending,
  marketCreate,
  marketSuspend,
  marketResume,
  marketClarify,
  marketSettle,
  marketVoid,
  marketCorrect,
  marketWatch,
);
