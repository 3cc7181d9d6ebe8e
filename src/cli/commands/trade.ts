import { type Command, InvalidArgumentError, Option } from "commander";
import { describeMistake, jsonSentence } from "../../contract/issue-sentence.ts";
import type { WireInput, WireResult } from "../../contract/operations.ts";
import { HedgeRef } from "../../contract/resources/trading.ts";
import type { Host } from "../command.ts";
import { defineCommand } from "../define-command.ts";
import { resolveId } from "../input/names.ts";
import { decimal, identifier, jsonObject, sharePrice } from "../input/parsers.ts";
import { price, shares, time, usd } from "../output/cells.ts";

type Hedge = NonNullable<WireInput<"placeTrade">["hedgeRef"]>;
type Quote = WireResult<"quoteTrade">;
type Fill = Pick<Quote, keyof Quote & keyof WireResult<"placeTrade">>;

interface TradeOptions {
  market: string;
  side: "yes" | "no";
  /** US dollars to spend, fee included. */
  amount?: number | undefined;
  /** Shares to sell; one of the two is given. */
  shares?: number | undefined;
  maxAvgPrice?: number | undefined;
  minShares?: number | undefined;
  minAvgPrice?: number | undefined;
}

export function register(noun: Command, host: Host): void {
  tradeQuote.register(noun, host);
  tradePlace.register(noun, host);
}

function withTerms(command: Command): Command {
  return command
    .requiredOption("--market <id>", "the market: its id, the beginning of it, its key or @last", identifier)
    .addOption(new Option("--side <side>", "which shares").choices(["yes", "no"]).makeOptionMandatory())
    .option("--amount <usd>", "buy for this much, fee included; this or --shares", decimal)
    .option("--shares <number>", "sell this many instead", decimal)
    .option("--max-avg-price <price>", "do not buy at a higher average price", sharePrice)
    .option("--min-shares <number>", "do not buy fewer", decimal)
    .option("--min-avg-price <price>", "do not sell at a lower average price", sharePrice);
}

/** Checked before the tenant is opened, with the words of the interface. */
function hedgeRef(value: string): Hedge {
  const parsed = HedgeRef.safeParse(jsonObject(value), { error: jsonSentence });
  if (parsed.success) return parsed.data;
  throw new InvalidArgumentError(`${describeMistake(parsed.error)}.`);
}

/** Terms of a quote or a trade as the interface takes them. */
export function tradeInput({ market, side, ...terms }: TradeOptions): WireInput<"quoteTrade"> {
  const { amount, shares: sold, maxAvgPrice, minShares, minAvgPrice } = terms;
  // When both are given, the operation's schema refuses and names the extra one.
  const selection = sold === undefined ? { side } : ({ side, action: "sell" } as const);
  return { marketId: market, selection, amount, shares: sold, maxAvgPrice, minShares, minAvgPrice };
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
  ...(quote.quote === undefined || quote.expiresAt === undefined
    ? []
    : ([
        ["quote", quote.quote],
        ["holds until", time(quote.expiresAt, { seconds: true })],
      ] as [string, string][])),
];

export const tradeQuote = defineCommand({
  name: "quote",
  summary: "what a trade would come to now; nothing is traded",
  takes: (command) =>
    withTerms(command)
      .option("--user <id>", "for whom; else only the market's own limits are checked", identifier)
      .option("--hold", "also make a quote that `trade place --quote` takes for ten seconds; needs --user"),
  operation: "quoteTrade",
  input: async ({ options }, api, session) => ({
    ...tradeInput({ ...options, market: await resolveId("market", options.market, api, session) }),
    hold: options.hold,
  }),
  onBehalfOf: ({ user }: TradeOptions & { user?: string; hold?: boolean }) => user,
  view: { kind: "record", fields: quoteFields },
});

export const tradePlace = defineCommand({
  name: "place",
  summary: "buy or sell shares for a user; recorded with you as the actor",
  takes: (command) =>
    withTerms(command)
      .requiredOption("--user <id>", "who trades", identifier)
      .option(
        "--hedge-ref <json>",
        'marks a hedge: {"symbol": "BTCUSD", "direction": "long", "notional": 100000, "externalRef": "pos-7"}',
        hedgeRef,
      )
      .option("--quote <text>", "execute exactly what this held quote of the same terms says, or nothing"),
  operation: "placeTrade",
  input: async ({ options }, api, session) => ({
    ...tradeInput({ ...options, market: await resolveId("market", options.market, api, session) }),
    hedgeRef: options.hedgeRef,
    quote: options.quote,
  }),
  onBehalfOf: ({ user }: TradeOptions & { user: string; hedgeRef?: Hedge; quote?: string }) => user,
  view: {
    kind: "record",
    fields: (trade): [string, string][] => [
      ["trade", trade.tradeId],
      ...fillFields(trade),
      ["position", `${shares(trade.position.shares)} at ${price(trade.position.avgCost)}`],
      ...(trade.realizedPnl === undefined ? [] : ([["realised", usd(trade.realizedPnl)]] as [string, string][])),
      ["time", time(trade.ts, { seconds: true })],
    ],
  },
});
