import { z } from "zod";
import { operationsUnder } from "../operation.ts";
import {
  AveragePrice,
  MarketId,
  MarketStatus,
  Outcome,
  Price,
  paging,
  Question,
  Shares,
  Side,
  Timestamp,
  Usd,
  UserId,
} from "../scalars.ts";
import { Corrections } from "./markets.ts";
import { SuitabilityStatus } from "./trading.ts";
import { UserRef, UserState } from "./users.ts";
import { Wallet } from "./wallets.ts";

export const PositionItem = z
  .object({
    marketId: MarketId,
    side: Side,
    shares: Shares,
    avgCost: AveragePrice,
    question: Question,
    currentPrice: Price,
    unrealizedPnl: Usd.describe("`shares` at `currentPrice`, less cost."),
    sellValue: Usd.describe(
      "What selling all shares now would pay: `amount` less `fee` of that sale's quote, as if the market were open. Shares that cannot be sold within the price bound count as 0.",
    ),
    sellPnl: Usd.describe("`sellValue` less cost: the result to show to users."),
  })
  .meta({ id: "Position" });

/** A position, with what a list of them shows of its market. */
const PortfolioPosition = PositionItem.extend({
  status: MarketStatus.describe("Extension: the market's status."),
}).meta({ id: "PortfolioPosition" });

/** A position in a market that was settled. */
export const SettledPosition = z
  .object({
    marketId: MarketId,
    question: Question,
    side: Side,
    outcome: Outcome.describe("As last decided."),
    shares: Shares,
    cost: Usd.describe("What the user paid for the shares, fees included."),
    payout: Usd.describe("What the outcome paid for the shares; in a void their cost."),
    settledAt: Timestamp,
    reason: z.string().nullable().describe("Extension: why the market was voided, or last corrected; else null."),
    corrections: Corrections,
  })
  .meta({ id: "SettledPosition" });

export const Portfolio = z
  .object({
    state: UserState,
    suitability: SuitabilityStatus,
    wallet: Wallet,
    positions: z.array(PortfolioPosition),
    sellValueUsd: Usd.describe("The sum of `sellValue` of `positions`."),
    settlements: z.array(SettledPosition).describe("The last 20 settled positions, newest first."),
  })
  .meta({ id: "Portfolio" });

/** What one user holds of a market. */
export const MarketHolder = z
  .object({
    userId: UserId,
    yesShares: Shares,
    yesCost: Usd.describe("What the user paid for the shares, fees included."),
    noShares: Shares,
    noCost: Usd,
    value: Usd.describe(
      "The shares at the market's present prices; once it is settled, what its outcome paid for them.",
    ),
    yesPayout: Usd.describe("What the user is paid if YES wins."),
    noPayout: Usd.describe("What the user is paid if NO wins."),
  })
  .meta({ id: "MarketHolder" });

const { userRead, operatorRead } = operationsUnder("trading");

export const positionOperations = {
  listPositions: userRead({
    path: "/v1/positions",
    summary: "List the user's open positions.",
    output: z.array(PositionItem),
  }),
  getPortfolio: userRead({
    path: "/v1/portfolio",
    summary: "Get the user's state, wallet, positions and latest settlements in one answer.",
    output: Portfolio,
    extension: true,
  }),
  getUserPortfolio: operatorRead({
    path: "/v1/users/:id/portfolio",
    summary: "Get what one user's own portfolio shows.",
    input: UserRef,
    output: Portfolio,
    extension: true,
  }),
  listMarketPositions: operatorRead({
    path: "/v1/markets/:id/positions",
    summary: "List the users who hold shares of a market, the user who paid most for one side first.",
    input: z.object({ id: MarketId, ...paging }),
    output: z.array(MarketHolder),
    paged: true,
    refusals: ["MARKET_NOT_FOUND"],
    extension: true,
  }),
};
