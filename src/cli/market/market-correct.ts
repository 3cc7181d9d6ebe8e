import { Option } from "commander";
import type { Api, WireResult } from "../../contract/operations.ts";
import { counted } from "../../domain/text.ts";
import type { Io } from "../command.ts";
import { marketOutcome } from "../input/parsers.ts";
import { mustAsk } from "../input/prompts.ts";
import { instant, outcomeText, time, usd } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import type { Field } from "../output/table.ts";
import {
  confirmEnd,
  type EndFlags,
  endCommand,
  requireWithinTreasury,
  type TreasuryFlag,
  treasuryFields,
  treasuryOption,
} from "./ending-market.ts";
import { marketsIn } from "./market-choice.ts";

type Preview = WireResult<"previewCorrection">;
type Corrected = WireResult<"correctMarket">;

export interface CorrectOptions extends EndFlags, TreasuryFlag {
  id: string;
  outcome: Corrected["outcome"];
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
        .option("--preview", "only show who would pay back and get how much; needs no --reason"),
      "what it takes",
    ),
  run: runMarketCorrect,
});

const previewView: View<Preview, Preview> = {
  kind: "record",
  fields: (preview) => [
    ["market", preview.marketId],
    ["outcome", `from ${outcomeText(preview.from).toUpperCase()} to ${outcomeText(preview.to).toUpperCase()}`],
    ...movedFields(preview),
    ["can be corrected until", instant(preview.until)],
  ],
};

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

/** Who pays back and gets how much. */
function movedFields(sums: Preview | Corrected): Field[] {
  const { users, takenBackUsd, receivablesUsd, paidUsd } = sums;
  const owed = receivablesUsd > 0 ? `, ${usd(receivablesUsd)} USD of it owed: wallets do not hold it` : "";
  return [
    ["concerns", counted(users, "user")],
    ["taken back", `${usd(takenBackUsd)} USD${owed}`],
    ["paid", `${usd(paidUsd)} USD, first to what its users owe`],
    ...treasuryFields(sums, { why: "which the new outcome pays more", rest: "which the new outcome pays less" }),
  ];
}

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
    await io.output.print(await api.previewCorrection({ id, outcome: outcomeText(outcome) }), previewView);
    return;
  }
  const seen = mustAsk(options, io.prompts) ? await askToCorrect(options, api, io) : undefined;
  const corrected = api.correctMarket({ id, outcome, reason, maxTreasuryUsd: maxTreasury ?? seen?.fromTreasuryUsd });
  await io.output.print(await io.output.during("Correcting the payments", corrected), correctedView);
}

async function askToCorrect(options: CorrectOptions, api: Api, io: Io): Promise<Preview> {
  const outcome = outcomeText(options.outcome);
  const preview = await api.previewCorrection({ id: options.id, outcome });
  requireWithinTreasury("The correction", preview, options);
  io.output.explain(preview, previewView);
  await confirmEnd(`${options.id} ${outcome}`, "To take back and pay these differences", io);
  return preview;
}
