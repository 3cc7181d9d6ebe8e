import { type Command, Option } from "commander";
import type { Api, WireResult } from "../../contract/operations.ts";
import { type Host, type Io, withSession } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import { decimal, identifier } from "../input/parsers.ts";
import { price, shares, time, usd } from "../output/cells.ts";
import type { View } from "../output/output.ts";

type Trade = WireResult<"placeTrade">;
type Quote = WireResult<"quoteTrade">;

export interface TradeOptions {
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

export interface PlaceOptions extends TradeOptions {
  user: string;
}

export function register(noun: Command, host: Host): void {
  withTerms(noun.command("quote"))
    .description("what a trade would come to now; nothing is traded")
    .option("--user <id>", "for whom; else only the market's own limits are checked", identifier)
    .action(
      host.action<TradeOptions & { user?: string }>(({ options, io }) =>
        withSession(options, io, (session) => runTradeQuote(options, session.api(options.user), io)),
      ),
    );
  withTerms(noun.command("place"))
    .description("buy or sell shares for a user; recorded with you as the actor")
    .requiredOption("--user <id>", "who trades", identifier)
    .action(
      host.action<PlaceOptions>(({ options, io }) =>
        withSession(options, io, (session) => runTradePlace(options, session.api(options.user), io)),
      ),
    );
}

function withTerms(command: Command): Command {
  return command
    .requiredOption("--market <id>", "the market", identifier)
    .addOption(new Option("--side <side>", "which shares").choices(["yes", "no"]).makeOptionMandatory())
    .option("--amount <usd>", "buy for this much, fee included; this or --shares", decimal)
    .option("--shares <number>", "sell this many instead", decimal)
    .option("--max-avg-price <price>", "do not buy at a higher average price", decimal)
    .option("--min-shares <number>", "do not buy fewer", decimal)
    .option("--min-avg-price <price>", "do not sell at a lower average price", decimal);
}

function inputOf({ market, side, ...terms }: TradeOptions): Parameters<Api["quoteTrade"]>[0] {
  const { amount, shares: sold, maxAvgPrice, minShares, minAvgPrice } = terms;
  // With both the contract says which one is too much.
  const selection = sold === undefined ? { side } : ({ side, action: "sell" } as const);
  return { marketId: market, selection, amount, shares: sold, maxAvgPrice, minShares, minAvgPrice };
}

const fillFields = (fill: Quote): [string, string][] => [
  ["market", fill.marketId],
  ["side", fill.action === "sell" ? `${fill.side}, sold` : fill.side],
  ["amount", usd(fill.amount)],
  ["fee", usd(fill.fee)],
  ["shares", shares(fill.shares)],
  ["average price", price(fill.avgPrice)],
  ["yes after", price(fill.yesPriceAfter)],
];

const quoteView: View<Quote, Quote> = { kind: "record", fields: fillFields };

const tradeView: View<Trade, Trade> = {
  kind: "record",
  fields: (trade) => [
    ["trade", trade.tradeId],
    ...fillFields(trade),
    ["position", `${shares(trade.position.shares)} at ${price(trade.position.avgCost)}`],
    ...(trade.realizedPnl === undefined ? [] : ([["realised", usd(trade.realizedPnl)]] as [string, string][])),
    ["time", time(trade.ts, { seconds: true })],
  ],
};

/** @param api acts on behalf of the user, if there is one */
export async function runTradeQuote(options: TradeOptions, api: Api, { output }: Io): Promise<ExitCode> {
  await output.print(await api.quoteTrade(inputOf(options)), quoteView);
  return EXIT.ok;
}

/** @param api acts on behalf of the user */
export async function runTradePlace(options: PlaceOptions, api: Api, { output }: Io): Promise<ExitCode> {
  await output.print(await api.placeTrade(inputOf(options)), tradeView);
  return EXIT.ok;
}
