import type { Api, WireResult } from "../../contract/operations.ts";
import { counted } from "../../domain/text.ts";
import { instant, outcomeText, usd } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import type { Field } from "../output/table.ts";
import { proposedFields } from "./end-terms.ts";
import { treasuryFields } from "./ending-market.ts";
import { clarifiedFields } from "./market-clarify.ts";

/** What a correction would take back and pay. */
export type CorrectionPreview = WireResult<"previewCorrection">;

/** Reads what a correction would move, with the question and what was added to it. */
export async function readCorrection(
  { id, outcome }: { id: string; outcome: CorrectionPreview["to"] },
  api: Api,
): Promise<{
  preview: CorrectionPreview;
  view: View<CorrectionPreview, CorrectionPreview>;
}> {
  const [preview, market] = await Promise.all([
    api.previewCorrection({ id, outcome: outcomeText(outcome) }),
    api.getMarket({ id }),
  ]);
  const { marketId, from, to, until, terms } = preview;
  const view = {
    kind: "record",
    fields: () => [
      ["market", marketId],
      ["question", market.question],
      ["decided by", market.resolutionRef],
      ...clarifiedFields(market),
      ["outcome", `from ${outcomeText(from).toUpperCase()} to ${outcomeText(to).toUpperCase()}`],
      ...movedFields(preview),
      ["can be corrected until", instant(until)],
      ...proposedFields(terms),
    ],
  } satisfies View<CorrectionPreview, CorrectionPreview>;
  return { preview, view };
}

/** Who pays back and gets how much. */
export function movedFields(sums: CorrectionPreview | WireResult<"correctMarket">): Field[] {
  const { users, takenBackUsd, receivablesUsd, paidUsd, feesUsd } = sums;
  const owed = receivablesUsd > 0 ? `, ${usd(receivablesUsd)} USD of it owed: wallets do not hold it` : "";
  return [
    ["concerns", counted(users, "user")],
    ["taken back", `${usd(takenBackUsd)} USD${owed}`],
    ["paid", `${usd(paidUsd)} USD, first to what its users owe`],
    ...(feesUsd === 0
      ? []
      : [[feesUsd < 0 ? "from the fees" : "back to the fees", `${usd(Math.abs(feesUsd))} USD`] as const]),
    ...treasuryFields(sums, { why: "which the new outcome pays more", rest: "which the new outcome pays less" }),
  ];
}
