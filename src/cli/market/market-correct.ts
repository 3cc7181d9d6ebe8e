import { Option } from "commander";
import type { Api, WireResult } from "../../contract/operations.ts";
import type { Io } from "../command.ts";
import { decimal, marketOutcome } from "../input/parsers.ts";
import { mustAsk } from "../input/prompts.ts";
import { outcomeText, time } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import { type CorrectionPreview, movedFields, readCorrection } from "./correction-preview.ts";
import { consequenceOf } from "./end-terms.ts";
import {
  confirmEnd,
  type EndFlags,
  endCommand,
  requireWithinTreasury,
  type TreasuryFlag,
  treasuryOption,
  withTreasuryFlag,
} from "./ending-market.ts";
import { marketsIn } from "./market-choice.ts";

type Corrected = WireResult<"correctMarket">;

export interface CorrectOptions extends EndFlags, TreasuryFlag {
  id: string;
  outcome: Corrected["outcome"];
  expectOutcome?: Corrected["from"] | undefined;
  expectReceivables?: number | undefined;
}

const CORRECTION_NOTE = `
A settlement can be corrected for resolution.correctionHours of the tenant file
after it: by default 0, so never.
`;

export const marketCorrect = endCommand<Omit<CorrectOptions, "id">>({
  verb: "correct",
  summary: "give a settled market another outcome; users pay back or get the difference; traders read --reason",
  operation: "correctMarket",
  subject: "A correction",
  offered: marketsIn("settled"),
  note: CORRECTION_NOTE,
  takes: (command) =>
    treasuryOption(
      command
        .addOption(
          new Option(
            "--outcome <outcome>",
            "the right outcome: yes, no, void; or what a YES share is paid, and NO the rest of 1: yes=0.4",
          )
            .argParser(marketOutcome)
            .makeOptionMandatory(),
        )
        .option("--expect-outcome <outcome>", "pay nothing unless this is the present outcome", marketOutcome)
        .option("--expect-receivables <usd>", "pay nothing unless users come to owe exactly this much of it", decimal)
        .option("--preview", "only show who would pay back and get how much; needs no --reason"),
      "what it takes",
    ),
  run: runMarketCorrect,
});

const correctedView: View<Corrected, Corrected> = {
  kind: "record",
  fields: (corrected) => [
    ["id", corrected.id],
    ["status", corrected.status],
    ["outcome", `${outcomeText(corrected.outcome)}, before ${outcomeText(corrected.from)}`],
    ["corrected", time(corrected.correctedAt, { seconds: true })],
    ...movedFields(corrected),
  ],
};

/**
 * Corrects a settlement, after the operator has seen who pays back and gets how much, and typed the market and the
 * outcome. The treasury adds at most what the operator confirmed or `--max-treasury` allows.
 *
 * @throws Fault USAGE when there is no reason, or neither `--yes` nor a terminal; EXPECTATION_NOT_MET when the treasury
 *   would add more
 */
export async function runMarketCorrect(options: CorrectOptions, api: Api, io: Io): Promise<void> {
  const { id, outcome, reason = "", maxTreasury } = options;
  if (options.preview) {
    const { preview, view } = await readCorrection({ id, outcome }, api);
    await io.output.print(preview, view);
    return;
  }
  const seen = mustAsk(options, io.prompts) ? await askToCorrect(options, api, io) : undefined;
  const corrected = api.correctMarket({
    ...{ id, outcome, reason, evidence: options.evidence },
    expectOutcome: options.expectOutcome ?? seen?.from,
    expectReceivablesUsd: options.expectReceivables ?? seen?.receivablesUsd,
    maxTreasuryUsd: maxTreasury ?? seen?.fromTreasuryUsd,
  });
  await io.output.print(await io.output.during("Correcting the payments", withTreasuryFlag(corrected)), correctedView);
}

async function askToCorrect(options: CorrectOptions, api: Api, io: Io): Promise<CorrectionPreview> {
  const outcome = outcomeText(options.outcome);
  const { preview, view } = await readCorrection(options, api);
  requireWithinTreasury("The correction", preview, options);
  io.output.explain(preview, view);
  await confirmEnd(
    `${options.id} ${outcome}`,
    consequenceOf("take back and pay these differences", { ...preview.terms, correctionHours: 0 }),
    io,
  );
  return preview;
}
