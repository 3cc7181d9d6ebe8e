import { type Command, InvalidArgumentError, Option } from "commander";
import { describeMistake, jsonSentence } from "../../contract/issue-sentence.ts";
import type { WireInput, WireResult } from "../../contract/operations.ts";
import { HedgeRef } from "../../contract/resources/trading.ts";
import { Fault } from "../../domain/fault.ts";
import { defineCommand, verbs } from "../define-command.ts";
import { resolveId } from "../input/names.ts";
import { decimal, identifier, jsonObject, sharePrice } from "../input/parsers.ts";
import { cents, price, shares, time, usd } from "../output/cells.ts";

type Hedge = NonNullable<WireInput<"placeTrade">["hedgeRef"]>;
type Quote = WireResult<"quoteTrade">;
type Fill = Pick<Quote, keyof Quote & keyof WireResult<"placeTrade">>;

interface TradeOptions {
  market: string;
  side: "yes" | "no";
  /** In US dollars, fee included: the amount to spend. */
  amount?: number | undefined;
  /** Shares to sell; the line gives either `amount` or `shares`. */
  shares?: number | undefined;
  maxAvgPrice?: number | undefined;
  minShares?: number | undefined;
  minAvgPrice?: number | undefined;
  /** In US dollars, after the fee. */
  minProceeds?: number | undefined;
}

const onMarket = (command: Command) =>
  command
    .requiredOption("--market <id>", "the market: its id, an id prefix, its key or @last", identifier)
    .addOption(new Option("--side <side>", "the side of the shares").choices(["yes", "no"]).makeOptionMandatory());

const purchaseBounds = (command: Command) =>
  command
    .option("--max-avg-price <price>", "do not buy at a higher average price", sharePrice)
    .option("--min-shares <number>", "do not buy fewer shares", decimal);

const saleBounds = (command: Command) =>
  command
    .option("--min-avg-price <price>", "do not sell at a lower average price", sharePrice)
    .option("--min-proceeds <usd>", "do not sell for less than this, after the fee", decimal);

/** Checked before the tenant is opened, with the messages of the API. */
function hedgeRef(value: string): Hedge {
  const parsed = HedgeRef.safeParse(jsonObject(value), { error: jsonSentence });
  if (parsed.success) return parsed.data;
  throw new InvalidArgumentError(`${describeMistake(parsed.error)}.`);
}

/** The terms of a quote or a trade, in the form of the API. */
export function tradeInput({ market, side, ...terms }: TradeOptions): WireInput<"quoteTrade"> {
  const { amount, shares: sold, maxAvgPrice, minShares, minAvgPrice, minProceeds } = terms;
  // When both are given, the operation's schema refuses the line and names the extra option.
  const selection = sold === undefined ? { side } : ({ side, action: "sell" } as const);
  return { marketId: market, selection, amount, shares: sold, maxAvgPrice, minShares, minAvgPrice, minProceeds };
}

const fillFields = (fill: Fill): [string, string][] => [
  ["market", fill.marketId],
  ["side", fill.action === "sell" ? `${fill.side}, sold` : fill.side],
  ["amount", usd(fill.amount)],
  ["fee", usd(fill.fee)],
  ["shares", shares(fill.shares)],
  ["average price", price(fill.avgPrice)],
  ["yes after", price(fill.yesPriceAfter)],
];

const quoteFields = (quote: Quote): [string, string][] => [
  ...fillFields(quote),
  ["yes before", price(quote.yesPriceBefore)],
  ["price impact", price(quote.priceImpact)],
];

export const tradeQuote = defineCommand({
  name: "quote",
  summary: "show what a trade would come to now; trades nothing",
  takes: (command) =>
    saleBounds(purchaseBounds(onMarket(command)))
      .option("--amount <usd>", "buy for this much, fee included; this or --shares", decimal)
      .option("--shares <number>", "sell this many shares instead", decimal)
      .option("--user <id>", "check this user's limits too; without it only the market's own are checked", identifier),
  operation: "quoteTrade",
  input: async ({ options }, api, session) =>
    tradeInput({ ...options, market: await resolveId("market", options.market, api, session) }),
  onBehalfOf: ({ user }: TradeOptions & { user?: string }) => user,
  fields: quoteFields,
});

type OrderOptions = TradeOptions & { user: string; hedgeRef?: Hedge };

/** A command that trades for a user. The audit log names the operator as the actor. */
const order = (
  name: string,
  summary: string,
  takes: (command: Command) => Command,
  check: (options: OrderOptions) => void,
) =>
  defineCommand({
    name,
    summary,
    takes: (command) =>
      takes(onMarket(command))
        .requiredOption("--user <id>", "the user who trades", identifier)
        .option(
          "--hedge-ref <json>",
          'marks a hedge: {"symbol": "BTCUSD", "direction": "long", "notional": 100000, "externalRef": "pos-7"}',
          hedgeRef,
        ),
    operation: "placeTrade",
    check: ({ options }) => check(options),
    input: async ({ options }, api, session) => ({
      ...tradeInput({ ...options, market: await resolveId("market", options.market, api, session) }),
      hedgeRef: options.hedgeRef,
    }),
    onBehalfOf: ({ user }: OrderOptions) => user,
    fields: (trade) => [
      ["trade", trade.tradeId],
      ...fillFields(trade),
      ["position", `${shares(trade.position.shares)} at ${price(trade.position.avgCost)}`],
      ["realised", trade.realizedPnl === undefined ? undefined : usd(trade.realizedPnl)],
      ["time", time(trade.ts, { seconds: true })],
    ],
  });

export const tradeBuy = order(
  "buy",
  "buy shares for a user; the audit log names you as the actor",
  (command) =>
    purchaseBounds(
      command
        .alias("place")
        .option("--amount <usd>", "how much to spend, fee included", decimal)
        .addOption(new Option("--shares <number>", "is for trade sell").argParser(decimal).hideHelp()),
    ),
  ({ amount, shares: sold }) => {
    if (sold !== undefined)
      throw new Fault("USAGE", "To buy, give --amount in dollars; to sell shares, use pmctl trade sell");
    if (amount === undefined) throw new Fault("USAGE", "trade buy needs --amount USD");
  },
);

export const tradeSell = order(
  "sell",
  "sell shares of a user; the audit log names you as the actor",
  (command) =>
    saleBounds(
      command
        .option("--shares <number>", "how many shares to sell", decimal)
        .addOption(new Option("--amount <usd>", "is for trade buy").argParser(decimal).hideHelp()),
    ),
  ({ amount, shares: sold }) => {
    if (amount !== undefined) throw new Fault("USAGE", "To sell, give --shares; to buy, use pmctl trade buy");
    if (sold === undefined) throw new Fault("USAGE", "trade sell needs --shares NUMBER");
  },
);

export const register = verbs(tradeQuote, tradeBuy, tradeSell);

export const positionList = defineCommand({
  name: "list",
  summary: "list a user's open positions",
  takes: (command) => command.requiredOption("--user <id>", "the user", identifier),
  operation: "listPositions",
  onBehalfOf: ({ user }: { user: string }) => user,
  ofKnownUser: true,
  columns: [
    { title: "MARKET", cell: ({ marketId }) => marketId, whole: true },
    { title: "QUESTION", cell: ({ question }) => question, least: 12 },
    { title: "SIDE", cell: ({ side }) => side },
    { title: "SHARES", cell: ({ shares: held }) => cents(held), align: "right" },
    { title: "COST", cell: ({ avgCost }) => price(avgCost), align: "right", optional: true },
    { title: "PRICE", cell: ({ currentPrice }) => price(currentPrice), align: "right", optional: true },
    { title: "SELL VALUE", cell: ({ sellValue }) => cents(sellValue), align: "right" },
    { title: "SELL P&L", cell: ({ sellPnl }) => cents(sellPnl), align: "right" },
  ],
  empty: "No open positions.",
});
