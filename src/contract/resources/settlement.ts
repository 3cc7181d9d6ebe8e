import { z } from "zod";
import { operationsUnder } from "../operation.ts";
import {
  MarketId,
  MarketStatus,
  Price,
  Question,
  ResolutionRef,
  Side,
  Timestamp,
  Usd,
  UsdTotal,
  UserId,
} from "../scalars.ts";
import { MarketRef } from "./markets.ts";

export const SettlementInput = z
  .object({
    marketId: MarketId,
    outcome: Side,
    expectPayouts: z
      .number()
      .int()
      .min(0)
      .optional()
      .meta({ description: "Extension: settle only if exactly this many positions win.", examples: [3] }),
    expectTotalUsd: UsdTotal.optional().describe(
      "Extension: settle only if the winners are paid exactly this much in all.",
    ),
  })
  .meta({ id: "SettlementInput" });
export const SettlementResult = z
  .object({
    id: MarketId,
    status: z.literal("settled"),
    outcome: Side,
    settledAt: Timestamp,
    payoutsProcessed: z.number().int().min(0).describe("Winning positions paid."),
  })
  .meta({ id: "SettlementResult" });

export const SettlementPreview = z
  .object({
    marketId: MarketId,
    question: Question,
    status: MarketStatus,
    closeAt: Timestamp,
    resolutionRef: ResolutionRef,
    outcome: Side,
    price: Price.describe("The current price of this outcome."),
    payouts: z.number().int().min(0).describe("Positions that would be paid."),
    escrowUsd: Usd.describe("What the market's escrow has for the winners and the house."),
    totalUsd: Usd.describe("The total of these payments. A settlement takes no fee from them."),
    toTreasuryUsd: Usd.describe("The rest of the escrow, which returns to the treasury."),
    houseResultUsd: Usd.describe(
      "The house's result, which is that rest less its liquidity: its gain, or its loss as a negative number. The fees of trades are not in it.",
    ),
    largest: z.object({ userId: UserId, amountUsd: Usd }).nullable().describe("The account that would be paid most."),
  })
  .meta({ id: "SettlementPreview" });

const { operatorRead, operatorChange } = operationsUnder("markets");

export const settlementOperations = {
  previewSettlement: operatorRead({
    path: "/v1/markets/:id/settlement",
    summary: "Preview what a settlement would pay now. Changes nothing.",
    input: MarketRef.extend({ outcome: Side }),
    output: SettlementPreview,
    refusals: ["MARKET_NOT_FOUND", "MARKET_SETTLED"],
    extension: true,
  }),
  settleMarket: operatorChange("settle", {
    path: "/v1/settle",
    summary: "Settle a market and pay the winners. Irreversible.",
    input: SettlementInput,
    output: SettlementResult,
    refusals: ["MARKET_NOT_FOUND", "MARKET_SETTLED", "EXPECTATION_NOT_MET"],
  }),
};
