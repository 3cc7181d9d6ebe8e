import { type Command, Option } from "commander";
import type { Api, WireResult } from "../../contract/operations.ts";
import { price, shares, time, usd } from "../cells.ts";
import { type ExitCode, type Host, type Io, withSession } from "../command.ts";
import { EXIT } from "../errors.ts";
import type { View } from "../output.ts";
import { decimal, identifier } from "../parsers.ts";

type Trade = WireResult<"placeTrade">;

export interface PlaceOptions {
  market: string;
  side: "yes" | "no";
  /** US dollars, fee included. */
  amount: number;
  user: string;
}

export function register(noun: Command, host: Host): void {
  noun
    .command("place")
    .description("buy shares for a user; recorded with you as the actor")
    .requiredOption("--market <id>", "the market", identifier)
    .addOption(new Option("--side <side>", "what to buy").choices(["yes", "no"]).makeOptionMandatory())
    .requiredOption("--amount <usd>", "what to spend, fee included", decimal)
    .requiredOption("--user <id>", "who trades", identifier)
    .action(
      host.action<PlaceOptions>(({ options, io }) =>
        withSession(options, io, (session) => runTradePlace(options, session.api(options.user), io)),
      ),
    );
}

const tradeView: View<Trade, Trade> = {
  kind: "record",
  fields: (trade) => [
    ["trade", trade.tradeId],
    ["market", trade.marketId],
    ["side", trade.side],
    ["amount", usd(trade.amount)],
    ["fee", usd(trade.fee)],
    ["shares", shares(trade.shares)],
    ["average price", price(trade.avgPrice)],
    ["yes after", price(trade.yesPriceAfter)],
    ["position", `${shares(trade.position.shares)} at ${price(trade.position.avgCost)}`],
    ["time", time(trade.ts, { seconds: true })],
  ],
};

/** @param api acts on behalf of the user */
export async function runTradePlace(options: PlaceOptions, api: Api, { output }: Io): Promise<ExitCode> {
  const { market, side, amount } = options;
  await output.print(await api.placeTrade({ marketId: market, selection: { side }, amount }), tradeView);
  return EXIT.ok;
}
