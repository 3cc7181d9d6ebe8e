import { z } from "zod";
import { operationsUnder } from "../../operation.ts";
import {
  MarketId,
  MarketStatus,
  Outcome,
  OutcomeText,
  Price,
  Question,
  ResolutionRef,
  SettledOutcome,
  Timestamp,
  text,
  Usd,
  UsdOrNone,
  UsdTotal,
  UserId,
} from "../../scalars.ts";
import { MarketRef } from "../markets.ts";
import { orProposal, Words } from "./proposals.ts";

const expected = {
  expectPayouts: z
    .number()
    .int()
    .min(0)
    .optional()
    .meta({ description: "Extension: only if exactly this many positions are paid.", examples: [3] }),
  expectTotalUsd: UsdTotal.optional().describe("Extension: only if the positions are paid exactly this much in all."),
};
const evidence = text(2000)
  .optional()
  .describe("Extension: what the decision rests on, such as a link and a quotation.");
const Reason = Words.meta({
  description: "Why, as traders read it.",
  examples: ["The source never published the figure"],
});

export const SettlementInput = z
  .object({ marketId: MarketId, outcome: SettledOutcome, ...expected, evidence })
  .meta({ id: "SettlementInput" });
export const SettlementResult = z
  .object({
    id: MarketId,
    status: z.literal("settled"),
    outcome: SettledOutcome,
    settledAt: Timestamp,
    payoutsProcessed: z.number().int().min(0).describe("Positions that were paid more than 0."),
  })
  .meta({ id: "SettlementResult" });

const treasury = {
  fromTreasuryUsd: Usd.describe("What the treasury adds because the escrow lacks it; only for a void or a correction."),
  toTreasuryUsd: Usd.describe("The rest of the escrow, which returns to the treasury."),
};
const fromFeesUsd = Usd.describe("The part of the payments that comes from the house's fees: above 0 only for a void.");

export const VoidInput = z
  .object({
    id: MarketId,
    reason: Reason,
    evidence,
    ...expected,
    maxTreasuryUsd: UsdOrNone.optional().describe(
      "The most that the treasury may add; 0 unless stated. What sales won stays with the sellers, so the escrow may lack money; the preview says how much.",
    ),
  })
  .meta({ id: "VoidInput" });
export const VoidResult = z
  .object({
    id: MarketId,
    status: z.literal("settled"),
    outcome: z.literal("void"),
    settledAt: Timestamp,
    payoutsProcessed: z.number().int().min(0).describe("Positions that got back more than 0."),
    refundedUsd: Usd.describe("What open positions got back in all: what they cost, fees included."),
    fromFeesUsd,
    ...treasury,
  })
  .meta({ id: "VoidResult" });

const terms = z
  .object({
    holdHours: z.number().min(0).describe("Hours between the proposal and its execution."),
    approvals: z.number().int().min(1).describe("How many actors must agree, the proposer among them."),
    correctionHours: z.number().min(0).describe("Hours after the settlement within which it can be corrected."),
  })
  .meta({
    id: "TermsOfEnd",
    description: "What the rules want: the strictest of tenant, category and market. It is a proposal if it must wait.",
  });
const correction = {
  takenBackUsd: Usd.describe("What users with less give back in all."),
  receivablesUsd: Usd.describe("The part of it that their wallets lack, so that they owe it."),
  paidUsd: Usd.describe("What users with more are paid in all; it first repays what they owe."),
  feesUsd: Usd.describe("Extension: what goes back to the house's fees; below 0 for what they give."),
  ...treasury,
};
export const CorrectionPreview = z
  .object({
    marketId: MarketId,
    from: Outcome.describe("The present outcome."),
    to: Outcome,
    users: z.number().int().min(0).describe("Users who give back or get money."),
    ...correction,
    terms,
    until: Timestamp.describe("Until when the market can be corrected."),
  })
  .meta({ id: "CorrectionPreview" });
export const CorrectionInput = z
  .object({
    id: MarketId,
    outcome: Outcome,
    reason: Reason,
    evidence,
    expectOutcome: Outcome.optional().describe("Only if this is the present outcome."),
    expectReceivablesUsd: UsdTotal.optional().describe("Extension: only if users come to owe exactly this much of it."),
    maxTreasuryUsd: UsdOrNone.optional().describe("The most that the treasury may add; by default what it takes."),
  })
  .meta({ id: "CorrectionInput" });
export const CorrectionResult = z
  .object({
    id: MarketId,
    status: z.literal("settled"),
    from: Outcome.describe("The outcome until now."),
    outcome: Outcome,
    correctedAt: Timestamp,
    users: z.number().int().min(0).describe("Users who gave back or got money."),
    ...correction,
  })
  .meta({ id: "CorrectionResult" });

export const SettlementPreview = z
  .object({
    marketId: MarketId,
    question: Question,
    status: MarketStatus,
    closeAt: Timestamp,
    resolutionRef: ResolutionRef,
    outcome: Outcome,
    price: Price.nullable().describe("The current price of this outcome; null unless it is a side."),
    payouts: z.number().int().min(0).describe("Positions that would be paid."),
    escrowUsd: Usd.describe("What the market's escrow has for the positions and the house."),
    totalUsd: Usd.describe("The total of these payments. A settlement takes no fee from them."),
    costUsd: Usd.describe("What the open positions cost, fees included: the total of a void, whatever the outcome."),
    fromFeesUsd,
    ...treasury,
    houseResultUsd: Usd.describe(
      "The house's result, which is what the treasury gets less the liquidity: its gain, or its loss as a negative number. The fees of trades are not in it.",
    ),
    terms,
    largest: z
      .object({ userId: UserId, amountUsd: Usd })
      .nullable()
      .describe("The account that would be paid most, both sides together."),
  })
  .meta({ id: "SettlementPreview" });

const { operatorRead, operatorChange } = operationsUnder("markets");

export const settlementOperations = {
  previewSettlement: operatorRead({
    path: "/v1/markets/:id/settlement",
    summary: "Preview what a settlement would pay now. Changes nothing.",
    input: MarketRef.extend({ outcome: OutcomeText }),
    output: SettlementPreview,
    refusals: ["MARKET_NOT_FOUND", "MARKET_SETTLED"],
    extension: true,
  }),
  settleMarket: operatorChange("settle", {
    path: "/v1/settle",
    summary: "Settle a market and pay the positions of the outcome. Final, unless the tenant allows corrections.",
    input: SettlementInput,
    output: orProposal(SettlementResult),
    refusals: ["MARKET_NOT_FOUND", "MARKET_SETTLED", "PROPOSAL_PENDING", "EXPECTATION_NOT_MET"],
  }),
  voidMarket: operatorChange("settle", {
    path: "/v1/markets/:id/void",
    summary: "Undo a market: open positions get back what they cost, fees included.",
    input: VoidInput,
    output: orProposal(VoidResult),
    refusals: [
      ...(["MARKET_NOT_FOUND", "MARKET_SETTLED", "PROPOSAL_PENDING"] as const),
      ...(["EXPECTATION_NOT_MET", "TREASURY_INSUFFICIENT"] as const),
    ],
    extension: true,
  }),
  previewCorrection: operatorRead({
    path: "/v1/markets/:id/correction",
    summary: "Preview what a correction of a settlement would change now. Changes nothing.",
    input: MarketRef.extend({ outcome: OutcomeText }),
    output: CorrectionPreview,
    refusals: ["MARKET_NOT_FOUND", "MARKET_NOT_SETTLED", "CORRECTION_CLOSED", "OUTCOME_UNCHANGED"],
    extension: true,
  }),
  correctMarket: operatorChange("settle", {
    path: "/v1/markets/:id/correct",
    summary: "Give a settled market another outcome: users give back or get the difference.",
    input: CorrectionInput,
    output: orProposal(CorrectionResult),
    refusals: [
      ...(["MARKET_NOT_FOUND", "MARKET_NOT_SETTLED", "CORRECTION_CLOSED", "OUTCOME_UNCHANGED"] as const),
      ...(["PROPOSAL_PENDING", "EXPECTATION_NOT_MET", "TREASURY_INSUFFICIENT"] as const),
    ],
    extension: true,
  }),
};
