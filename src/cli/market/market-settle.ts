import { Option } from "commander";
import type { Api, WireResult } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import type { Io } from "../command.ts";
import { settledOutcome } from "../input/parsers.ts";
import { mustAsk } from "../input/prompts.ts";
import { outcomeText, price, time } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import { consequenceOf } from "./end-terms.ts";
import { confirmEnd, type EndFlags, type ExpectFlags, endCommand, expectOptions } from "./ending-market.ts";
import { type Preview, readPreview, showPreview } from "./settlement-preview.ts";

type Settled = WireResult<"settleMarket">;

export interface SettleOptions extends EndFlags, ExpectFlags {
  id: string;
  outcome: Settled["outcome"];
  /** Settles without a question a market that is still open, or whose price expects the other outcome. */
  early?: boolean | undefined;
}

export const marketSettle = endCommand<Omit<SettleOptions, "id">>({
  verb: "settle",
  summary: "pay the positions of the outcome; --reason says what decides it",
  operation: "settleMarket",
  subject: "A settlement",
  takes: (command) =>
    expectOptions(
      command
        .addOption(
          new Option(
            "--outcome <outcome>",
            "the side that wins: yes, no; or what a YES share is paid, and NO the rest of 1: yes=0.4",
          )
            .argParser(settledOutcome)
            .makeOptionMandatory(),
        )
        .option("--preview", "only show what would be paid; needs no --reason"),
      "positions",
    ).option("--early", "with --yes: settle before the market closes, or against its price"),
  run: runMarketSettle,
});

const settledView: View<Settled, Settled> = {
  kind: "record",
  fields: ({ id, status, outcome, settledAt, payoutsProcessed }) => [
    ["id", id],
    ["status", status],
    ["outcome", outcomeText(outcome)],
    ["settled", time(settledAt, { seconds: true })],
    ["payouts", String(payoutsProcessed)],
  ],
};

/** Why a settlement is most likely a mistake, with the option for it; undefined for one that is due and that traders expect. */
function doubt({ status, outcome, price: given, closeAt }: Preview): string | undefined {
  const other = outcome === "yes" ? "NO" : "YES";
  if (status !== "closed") return `the market does not close before ${closeAt}. --early settles it all the same`;
  if (given === null || given >= 0.5) return undefined;
  return `traders expect ${other}, at ${price(1 - given)}. --early settles it against the price, also after it has closed`;
}

/**
 * Refuses a settlement that is most likely a mistake where there is no terminal to ask on.
 * @throws Fault SETTLEMENT_UNEXPECTED
 */
async function refuseDoubtful({ id, outcome }: SettleOptions, api: Api): Promise<void> {
  const preview = await api.previewSettlement({ id, outcome: outcomeText(outcome) }).catch((error: unknown) => {
    // The operation refuses a second settlement itself, or recognises the repeat of a request.
    if (error instanceof Fault && error.code === "MARKET_SETTLED") return undefined;
    throw error;
  });
  const why = preview && doubt(preview);
  if (why !== undefined) throw new Fault("SETTLEMENT_UNEXPECTED", `Nothing was paid: ${why}`);
}

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
    const { preview, view } = await readPreview({ id, outcome }, api);
    await io.output.print(preview, view);
    return;
  }
  const asks = mustAsk(options, io.prompts);
  if (!asks && !options.early) await refuseDoubtful(options, api);
  const seen = asks ? await askToSettle(options, api, io) : undefined;
  const settled = api.settleMarket({
    marketId: id,
    outcome,
    evidence: options.evidence,
    expectPayouts: options.expectPayouts ?? seen?.payouts,
    expectTotalUsd: options.expectTotal ?? seen?.totalUsd,
  });
  await io.output.print(await io.output.during("Paying the positions", settled), settledView);
}

async function askToSettle(options: SettleOptions, api: Api, io: Io): Promise<Preview> {
  const { id, outcome } = options;
  const preview = await showPreview(options, "Settling", api, io);
  const warning =
    preview.status === "open" ? "It is still open: a trade before you confirm stops the settlement.\n" : "";
  await confirmEnd(
    `${id} ${outcomeText(outcome)}`,
    `${warning}${consequenceOf("pay the positions", preview.terms)}`,
    io,
  );
  return preview;
}
