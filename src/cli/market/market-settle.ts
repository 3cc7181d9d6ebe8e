import { Option } from "commander";
import type { Api, WireResult } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { counted } from "../../domain/text.ts";
import { type CommandModule, type Io, withSession } from "../command.ts";
import { NOT_CONFIRMED } from "../errors.ts";
import { decimal, wholeNumber } from "../input/parsers.ts";
import { askReason, mustAsk } from "../input/prompts.ts";
import { instant, price, time, usd } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import { marketArgument } from "./market-choice.ts";

type Settled = WireResult<"settleMarket">;
type Preview = WireResult<"previewSettlement">;

export interface SettleOptions {
  id: string;
  outcome: "yes" | "no";
  yes?: boolean | undefined;
  /** Shows what a settlement would pay, and settles nothing. */
  preview?: boolean | undefined;
  expectPayouts?: number | undefined;
  /** US dollars. */
  expectTotal?: number | undefined;
  /** Settles without a question a market that is still open, or whose price expects the other outcome. */
  early?: boolean | undefined;
}

type SettleFlags = Omit<SettleOptions, "id">;

const theMarket = marketArgument("settle");

export const marketSettle: CommandModule = {
  register: (noun, host) =>
    host.add<SettleFlags>(
      theMarket
        .takes(noun.command("settle").description("pay the winners; cannot be undone; --reason says what decides it"))
        .addOption(new Option("--outcome <side>", "the side that wins").choices(["yes", "no"]).makeOptionMandatory())
        .option("--preview", "only show what would be paid")
        .option("--expect-payouts <n>", "pay nothing unless this many winners would be paid", wholeNumber)
        .option("--expect-total <usd>", "pay nothing unless this is the total", decimal)
        .option("--early", "with --yes: settle before the market closes, or against its price"),
      { operation: "settleMarket", ends: { 3: NOT_CONFIRMED } },
      async ({ options: given, args, io }) => {
        theMarket.check({ args, io });
        const { preview } = given;
        const options = preview ? given : { ...given, reason: await askReason(given, io.prompts, "A settlement") };
        if (!preview) mustAsk(options, io.prompts);
        return withSession(options, io, async (session) => {
          const api = session.api();
          const { id } = await theMarket.input({ args, io }, api, session);
          return runMarketSettle({ ...options, id }, api, io);
        });
      },
    ),
};

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

/** The preview of a payout that cannot be undone. */
function previewFields(preview: Preview): [string, string][] {
  const { marketId, question, status, closeAt, resolutionRef, outcome, payouts, largest } = preview;
  const { escrowUsd, totalUsd, toTreasuryUsd, houseResultUsd } = preview;
  const house = houseResultUsd < 0 ? `loses ${usd(-houseResultUsd)} USD` : `keeps ${usd(houseResultUsd)} USD`;
  return [
    ["market", marketId],
    ["question", question],
    ["status", `${status}, ${status === "closed" ? "closed" : "closes"} ${instant(closeAt)}`],
    ["decided by", resolutionRef],
    ["outcome", outcome.toUpperCase()],
    ["market's price", agreement(preview)],
    ["winners", counted(payouts, "position")],
    ["escrow", `${usd(escrowUsd)} USD`],
    ["paid to them", `${usd(totalUsd)} USD`],
    ["settlement fee", "none: the trades have paid theirs"],
    ["largest payout", largest ? `${usd(largest.amountUsd)} USD to ${largest.userId}` : "-"],
    ["to the treasury", `${usd(toTreasuryUsd)} USD, the rest of the escrow`],
    ["house", `${house}, not counting the fees of trades`],
  ];
}

/** The price of the outcome, with a warning when traders expect the other outcome. */
function agreement({ price: given, outcome }: Preview): string {
  const says = `${outcome.toUpperCase()} at ${price(given)}`;
  if (given >= 0.5) return says;
  return given < 0.1 ? `${says}: traders are almost sure of the OPPOSITE` : `${says}: traders expect the OPPOSITE`;
}

/** Why a settlement is most likely a mistake, with the option for it; undefined for one that is due and that traders expect. */
function doubt({ status, outcome, price: given, closeAt }: Preview): string | undefined {
  const other = outcome === "yes" ? "NO" : "YES";
  if (status !== "closed") return `the market does not close before ${closeAt}. --early settles it all the same`;
  if (given >= 0.5) return undefined;
  return `traders expect ${other}, at ${price(1 - given)}. --early settles it against the price, also after it has closed`;
}

/**
 * Refuses a settlement that is most likely a mistake where there is no terminal to ask on.
 * @throws Fault SETTLEMENT_UNEXPECTED
 */
async function refuseDoubtful({ id, outcome }: SettleOptions, api: Api): Promise<void> {
  const preview = await api.previewSettlement({ id, outcome }).catch((error: unknown) => {
    // The operation refuses a second settlement itself, or recognises the repeat of a request.
    if (error instanceof Fault && error.code === "MARKET_SETTLED") return undefined;
    throw error;
  });
  const why = preview && doubt(preview);
  if (why !== undefined) throw new Fault("SETTLEMENT_UNEXPECTED", `Nothing was paid: ${why}`);
}

const previewView: View<Preview, Preview> = { kind: "record", fields: previewFields };

/**
 * Settles a market, after the operator has seen the payouts and typed the market and the outcome. It pays exactly what
 * was shown: a trade in between makes it pay nothing.
 *
 * @throws Fault USAGE when there is neither `--yes` nor a terminal; EXPECTATION_NOT_MET when the payouts would differ;
 *   SETTLEMENT_UNEXPECTED with `--yes` before the market closes or against its price
 */
export async function runMarketSettle(options: SettleOptions, api: Api, io: Io): Promise<void> {
  const { id, outcome } = options;
  if (options.preview) {
    await io.output.print(await api.previewSettlement({ id, outcome }), previewView);
    return;
  }
  const asks = mustAsk(options, io.prompts);
  if (!asks && !options.early) await refuseDoubtful(options, api);
  const seen = asks ? await askToSettle(options, api, io) : undefined;
  const settled = api.settleMarket({
    marketId: id,
    outcome,
    expectPayouts: options.expectPayouts ?? seen?.payouts,
    expectTotalUsd: options.expectTotal ?? seen?.totalUsd,
  });
  await io.output.print(await io.output.during("Paying the winners", settled), settledView);
}

async function askToSettle(options: SettleOptions, api: Api, { output, prompts }: Io): Promise<Preview> {
  const { id, outcome } = options;
  const preview = await api.previewSettlement({ id, outcome });
  const { status, payouts, totalUsd } = preview;
  // A wrong expectation is refused before the operator types the market's name.
  if ((options.expectPayouts ?? payouts) !== payouts || (options.expectTotal ?? totalUsd) !== totalUsd)
    throw new Fault(
      "EXPECTATION_NOT_MET",
      `Settling would make ${counted(payouts, "payout")} of ${usd(totalUsd)} USD in all, which is not what was expected: nothing was paid`,
    );
  output.explain(preview, previewView);
  const warning = status === "open" ? "It is still open: a trade before you confirm stops the settlement.\n" : "";
  const phrase = `${id} ${outcome}`;
  output.note(`\n${warning}To pay the winners, which cannot be undone, type\n  ${phrase}`);
  await prompts.type("The market and the outcome", phrase);
  return preview;
}
