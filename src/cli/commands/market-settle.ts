import { type Command, Option } from "commander";
import type { Api, WireResult } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { price, time } from "../cells.ts";
import { type ExitCode, type Host, type Io, withSession } from "../command.ts";
import { EXIT } from "../errors.ts";
import type { View } from "../output.ts";
import { decimal, identifier, wholeNumber } from "../parsers.ts";
import { mustAsk } from "../prompts.ts";

type Settled = WireResult<"settleMarket">;

export interface SettleOptions {
  id: string;
  outcome: "yes" | "no";
  yes?: boolean | undefined;
  expectPayouts?: number | undefined;
  expectTotal?: number | undefined;
}

type SettleFlags = Omit<SettleOptions, "id">;

export function registerSettle(noun: Command, host: Host): void {
  noun
    .command("settle")
    .description("pay the winners; cannot be undone")
    .argument("<id>", "the market", identifier)
    .addOption(new Option("--outcome <side>", "what happened").choices(["yes", "no"]).makeOptionMandatory())
    .option("--expect-payouts <n>", "pay nothing unless this many winners are paid", wholeNumber)
    .option("--expect-total <usd>", "pay nothing unless this is the total", decimal)
    .action(
      host.action<SettleFlags>(async ({ options, args: [id = ""], io }) => {
        const settle = { ...options, id };
        checkSettle(settle, io);
        return withSession(options, io, (session) => runMarketSettle(settle, session.api(), io));
      }),
    );
}

/** What can be refused before the market is looked at. */
function checkSettle(options: SettleOptions, { prompts }: Io): void {
  if (options.expectPayouts !== undefined || options.expectTotal !== undefined)
    throw new Fault("USAGE", "--expect-payouts and --expect-total come with the settlement preview: not available yet");
  mustAsk(options, prompts);
}

const settledView: View<Settled, Settled> = {
  kind: "record",
  fields: ({ id, status, outcome, settledAt, payoutsProcessed }) => [
    ["id", id],
    ["status", status],
    ["outcome", outcome],
    ["settled", time(settledAt, { seconds: true })],
    ["payouts", String(payoutsProcessed)],
  ],
};

/**
 * Settles a market, after the operator has typed which one and how.
 * @throws Fault USAGE when there is neither `--yes` nor anybody to ask
 */
export async function runMarketSettle(options: SettleOptions, api: Api, io: Io): Promise<ExitCode> {
  const { id, outcome } = options;
  checkSettle(options, io);
  if (mustAsk(options, io.prompts)) await askToSettle({ id, outcome }, api, io);
  await io.output.print(await api.settleMarket({ marketId: id, outcome }), settledView);
  return EXIT.ok;
}

async function askToSettle({ id, outcome }: Pick<SettleOptions, "id" | "outcome">, api: Api, io: Io): Promise<void> {
  const market = await api.getMarket({ id });
  if (market.status === "settled") throw new Fault("MARKET_SETTLED", "Market is already settled");
  const traders = outcome === "yes" ? market.yesPrice : market.noPrice;
  const phrase = `${id} ${outcome}`;
  io.output.note(
    [
      market.question,
      `  ${market.status}, closes ${time(market.closeAt)}; decided by: ${market.resolutionRef}`,
      `  You settle it ${outcome.toUpperCase()}; traders give that ${price(traders)}.`,
      `  To pay the winners, which cannot be undone, type: ${phrase}`,
    ].join("\n"),
  );
  await io.prompts.type("The market and the outcome", phrase);
}
