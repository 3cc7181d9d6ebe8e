import type { Api, WireResult } from "../../contract/operations.ts";
import { counted } from "../../domain/text.ts";
import type { Io } from "../command.ts";
import { mustAsk } from "../input/prompts.ts";
import { time, usd } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import { consequenceOf } from "./end-terms.ts";
import {
  confirmEnd,
  type EndFlags,
  type ExpectFlags,
  endCommand,
  expectOptions,
  requireWithinTreasury,
  type TreasuryFlag,
  treasuryFields,
  treasuryOption,
  withTreasuryFlag,
} from "./ending-market.ts";
import { type Preview, readPreview, showPreview } from "./settlement-preview.ts";

type Voided = WireResult<"voidMarket">;

export interface VoidOptions extends EndFlags, ExpectFlags, TreasuryFlag {
  id: string;
}

export const marketVoid = endCommand<Omit<VoidOptions, "id">>({
  verb: "void",
  summary: "give open positions back what they cost; traders read --reason",
  operation: "voidMarket",
  subject: "A void",
  takes: (command) =>
    treasuryOption(
      expectOptions(
        command.option("--preview", "only show what would be paid back, and from where; needs no --reason"),
        "positions",
      ),
      "0, or what you confirm",
    ),
  run: runMarketVoid,
});

const voidedView: View<Voided, Voided> = {
  kind: "record",
  fields: (voided) => [
    ["id", voided.id],
    ["status", `${voided.status}: ${voided.outcome}`],
    ["voided", time(voided.settledAt, { seconds: true })],
    ["paid back", `${usd(voided.refundedUsd)} USD to ${counted(voided.payoutsProcessed, "position")}`],
    ["from fees", `${usd(voided.fromFeesUsd)} USD of it`],
    ...treasuryFields(voided, { why: "which the escrow lacked", rest: "the rest of the escrow" }),
  ],
};

/**
 * Voids a market, after the operator has seen what is paid back, and from where, and typed the market and the outcome.
 * It pays exactly what was shown. The treasury adds what the operator confirmed or `--max-treasury` allows.
 *
 * @throws Fault USAGE when there is no reason, or neither `--yes` nor a terminal; EXPECTATION_NOT_MET when the payments
 *   would differ, or the treasury would add more
 */
export async function runMarketVoid(options: VoidOptions, api: Api, io: Io): Promise<void> {
  const { id, reason = "", expectPayouts, expectTotal, maxTreasury } = options;
  if (options.preview) {
    const { preview, view } = await readPreview({ id, outcome: "void" }, api);
    await io.output.print(preview, view);
    return;
  }
  const seen = mustAsk(options, io.prompts) ? await askToVoid(options, api, io) : undefined;
  const voided = api.voidMarket({
    id,
    reason,
    evidence: options.evidence,
    expectPayouts: expectPayouts ?? seen?.payouts,
    expectTotalUsd: expectTotal ?? seen?.totalUsd,
    maxTreasuryUsd: maxTreasury ?? seen?.fromTreasuryUsd,
  });
  await io.output.print(await io.output.during("Paying positions back", withTreasuryFlag(voided)), voidedView);
}

async function askToVoid(options: VoidOptions, api: Api, io: Io): Promise<Preview> {
  const preview = await showPreview({ ...options, outcome: "void" }, "Voiding", api, io);
  requireWithinTreasury("Voiding", preview, options);
  const warning = preview.status === "open" ? "It is still open: a trade before you confirm stops the void.\n" : "";
  await confirmEnd(`${options.id} void`, `${warning}${consequenceOf("pay the positions back", preview.terms)}`, io);
  return preview;
}
