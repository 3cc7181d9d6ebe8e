import type { Api, WireResult } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { counted } from "../../domain/text.ts";
import type { Io } from "../command.ts";
import { instant, outcomeText, price, usd } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import type { Field } from "../output/table.ts";
import { proposedFields } from "./end-terms.ts";
import { type ExpectFlags, treasuryFields } from "./ending-market.ts";
import { clarifiedFields } from "./market-clarify.ts";

/** What a settlement or a void would pay. */
export type Preview = WireResult<"previewSettlement">;

/**
 * Reads what an end would pay. Payouts are hard to take back, so the view also shows the clarifications that the person
 * who decides must know.
 */
export async function readPreview(
  { id, outcome }: { id: string; outcome: Preview["outcome"] },
  api: Api,
): Promise<{ preview: Preview; view: View<Preview, Preview> }> {
  const [preview, market] = await Promise.all([
    api.previewSettlement({ id, outcome: outcomeText(outcome) }),
    api.getMarket({ id }),
  ]);
  const { marketId, question, status, closeAt, resolutionRef } = preview;
  const view: View<Preview, Preview> = {
    kind: "record",
    fields: () => [
      ["market", marketId],
      ["question", question],
      ["status", `${status}, ${status === "closed" ? "closed" : "closes"} ${instant(closeAt)}`],
      ["decided by", resolutionRef],
      ...clarifiedFields(market),
      ["outcome", outcomeText(outcome).toUpperCase()],
      ...(outcome === "void" ? voidFields : payoutFields)(preview),
      ...proposedFields(preview.terms),
    ],
  };
  return { preview, view };
}

function payoutFields(preview: Preview): Field[] {
  const { outcome, payouts, escrowUsd, totalUsd, toTreasuryUsd } = preview;
  const isSide = typeof outcome === "string";
  return [
    ...(isSide ? [["market's price", agreement(preview)] as Field] : shareFields(outcome)),
    ["pays", counted(payouts, "position")],
    ["escrow", `${usd(escrowUsd)} USD`],
    ["paid to them", `${usd(totalUsd)} USD`],
    ["settlement fee", "none: the trades have paid theirs"],
    largestField(preview),
    ["to the treasury", `${usd(toTreasuryUsd)} USD, the rest of the escrow`],
    houseField(preview),
  ];
}

const shareFields = ({ yes }: { yes: number }): Field[] => [
  ["a YES share", `${usd(yes)} USD`],
  ["a NO share", `${usd(Math.round((1 - yes) * 1e6) / 1e6)} USD`],
];

function voidFields(preview: Preview): Field[] {
  const { payouts, escrowUsd, totalUsd, fromFeesUsd } = preview;
  return [
    ["gets back its cost", payouts === 1 ? "1 open position" : `each of ${counted(payouts, "open position")}`],
    ["escrow", `${usd(escrowUsd)} USD`],
    ["paid to them", `${usd(totalUsd)} USD, their fees included`],
    ["from fees", `${usd(fromFeesUsd)} USD of it, which the house has had from their trades`],
    largestField(preview),
    ...treasuryFields(preview, { why: "which the escrow lacks because sales won", rest: "the rest of the escrow" }),
    houseField(preview),
  ];
}

const largestField = ({ largest }: Preview): Field => [
  "largest payout",
  largest ? `${usd(largest.amountUsd)} USD to ${largest.userId}` : "-",
];

function houseField({ houseResultUsd }: Preview): Field {
  const house = houseResultUsd < 0 ? `loses ${usd(-houseResultUsd)} USD` : `keeps ${usd(houseResultUsd)} USD`;
  return ["house", `${house}, not counting the fees of trades`];
}

/** The price of the outcome, with a warning when traders expect the other outcome. */
function agreement({ price: given, outcome }: Preview): string {
  if (given === null) return "-";
  const says = `${outcomeText(outcome).toUpperCase()} at ${price(given)}`;
  if (given >= 0.5) return says;
  return given < 0.1 ? `${says}: traders are almost sure of the OPPOSITE` : `${says}: traders expect the OPPOSITE`;
}

/**
 * Shows what would be paid. A wrong expectation is refused before the operator types anything.
 * @param what makes the payments, as the subject of a sentence
 * @throws Fault EXPECTATION_NOT_MET
 */
export async function showPreview(
  options: ExpectFlags & { id: string; outcome: Preview["outcome"] },
  what: string,
  api: Api,
  { output }: Io,
): Promise<Preview> {
  const { preview, view } = await readPreview(options, api);
  const { expectPayouts, expectTotal } = options;
  const { payouts, totalUsd } = preview;
  if ((expectPayouts ?? payouts) !== payouts || (expectTotal ?? totalUsd) !== totalUsd)
    throw new Fault(
      "EXPECTATION_NOT_MET",
      `${what} would make ${counted(payouts, "payout")} of ${usd(totalUsd)} USD in all, which is not what was expected: nothing was paid`,
    );
  output.explain(preview, view);
  return preview;
}
