import { z } from "zod";
import { NoInput, operation } from "../operation.ts";
import { MarketId, Shares, Side, Timestamp, Usd } from "../scalars.ts";
import { StoredQuestion } from "../stored.ts";
import { UserState, Wallet } from "./funding.ts";
import { PositionItem, SuitabilityStatus } from "./trading.ts";

/** A position in a market that was settled. */
export const SettledPosition = z
  .object({
    marketId: MarketId,
    question: StoredQuestion,
    side: Side,
    outcome: Side,
    shares: Shares,
    cost: Usd.meta({ description: "What the user paid for the shares, fees included." }),
    payout: Usd.meta({ description: "A dollar per share when the side won." }),
    settledAt: Timestamp,
  })
  .meta({ id: "SettledPosition" });

export const Portfolio = z
  .object({
    state: UserState,
    suitability: SuitabilityStatus,
    wallet: Wallet,
    positions: z.array(PositionItem),
    settlements: z.array(SettledPosition).meta({ description: "The last 20, newest first." }),
  })
  .meta({ id: "Portfolio" });

export const portfolioOperations = {
  getPortfolio: operation({
    method: "GET",
    path: "/v1/portfolio",
    auth: "user",
    summary: "All that a user's page shows, in one answer.",
    input: NoInput,
    output: Portfolio,
    extension: true,
  }),
};
