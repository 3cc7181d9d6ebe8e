import type { OperationId, WireOutput } from "../../../contract/operations.ts";
import { depthOf } from "../../../domain/market/depth.ts";
import type { Side } from "../../../domain/market/market.ts";
import { usdFromMicro } from "../../../domain/money.ts";
import { DEFAULT_POLICY } from "../../../domain/policy/policy.ts";
import * as story from "./story.ts";

const { FILL, MARKET, QUESTION, PRICES, SHARES } = story;

export type OutputExamples = { readonly [Id in OperationId]?: WireOutput<Id> };

const ladder = (side: Side) =>
  depthOf(story.MECHANISM, story.POOL, side)
    .slice(0, 3)
    .map(({ price, sizeMicro }) => ({ price, size: usdFromMicro(sizeMicro) }));

const market = {
  id: MARKET,
  question: QUESTION,
  category: "crypto",
  kind: story.MECHANISM.kind,
  closeAt: story.CLOSE_AT,
};

const filled = { orderId: story.TRADE, status: "filled" as const, outcome: 1 as const };
const position = { shares: SHARES, avgCost: FILL.avgPrice };
const traded = { tradeId: story.TRADE, ...FILL, position };
const order = { ...filled, tradeId: story.TRADE, ...FILL, question: QUESTION };
const quote = { ...FILL, yesPriceBefore: story.YES_BEFORE, priceImpact: story.PRICE_IMPACT };

const positions = [
  {
    marketId: MARKET,
    side: FILL.side,
    ...position,
    question: QUESTION,
    currentPrice: PRICES.yes,
    unrealizedPnl: story.UNREALIZED,
    sellValue: story.SELL_VALUE,
    sellPnl: story.SELL_PNL,
  },
];

/** The answers that add up to the score in `submitSuitability`, and the cap of its tier in cents. */
const SCORE = 12;
const CAP_MINOR = 250_000;

const withdrawal = {
  withdrawalId: "wdr_019f2c5d21",
  status: "pending" as const,
  amount: FILL.amount,
  createdAt: story.TRADED_AT,
};

/** A tenant that lets one actor settle at once, and correct for three days. */
const TERMS = { holdHours: 0, approvals: 1, correctionHours: 72 };
/** What a correction from yes to no takes back: the winner still holds it. */
const corrected = {
  users: 1,
  takenBackUsd: SHARES,
  receivablesUsd: 0,
  paidUsd: 0,
  feesUsd: 0,
  fromTreasuryUsd: 0,
  toTreasuryUsd: SHARES,
};
/** The user may trade and has money, and an operator has stopped the market. */
const suspended = {
  code: "MARKET_SUSPENDED",
  message: "Market is suspended",
  until: null,
  action: null,
};
const allowed = { allowed: true, reasons: [] };
const eligibility: WireOutput<"getEligibility"> = {
  trade: {
    allowed: false,
    reasons: [suspended],
    limits: {
      maxTradeUsd: DEFAULT_POLICY.maxTradeUsd,
      maxExposureUsd: CAP_MINOR / 100,
      remainingUsd: CAP_MINOR / 100 - story.WALLET.exposureUsd,
      balanceUsd: story.BALANCE,
    },
  },
  sell: { allowed: false, reasons: [suspended] },
  deposit: allowed,
  withdraw: allowed,
};

const portfolio: WireOutput<"getPortfolio"> = {
  state: "verified",
  suitability: { completed: true, score: SCORE, exposureCapMinor: CAP_MINOR, updatedAt: story.CREATED_AT },
  wallet: story.WALLET,
  positions: positions.map((each) => ({ ...each, status: "open" })),
  sellValueUsd: story.SELL_VALUE,
  settlements: [],
};
const statement: WireOutput<"listStatement"> = [
  {
    seq: 7,
    ts: story.TRADED_AT,
    type: "trade.executed",
    amount: -FILL.amount,
    balance: story.BALANCE,
    marketId: MARKET,
    question: QUESTION,
    tradeId: story.TRADE,
  },
  {
    seq: 6,
    ts: story.DEPOSITED_AT,
    type: "wallet.credited",
    amount: story.DEPOSIT,
    balance: story.DEPOSIT,
    reference: "tx_0001",
  },
];

/** The answers for traders and their pages in the story. */
export const TRADER_ANSWERS: OutputExamples = {
  listMarkets: [{ ...market, yesPrice: PRICES.yes, volume24h: FILL.amount }],
  createMarket: { id: MARKET, status: "open", yesPrice: story.YES_BEFORE, createdAt: story.CREATED_AT },
  listTrendingMarkets: [{ id: MARKET, question: QUESTION, yesPrice: PRICES.yes, volume24h: FILL.amount }],
  listRecentPrices: [{ id: MARKET, yes: [story.YES_BEFORE, PRICES.yes] }],
  getMarket: {
    ...market,
    status: "open",
    yesPrice: PRICES.yes,
    noPrice: PRICES.no,
    volume: FILL.amount,
    resolutionRef: story.REFERENCE,
    meta: {},
    createdAt: story.CREATED_AT,
    outcome: null,
    settledAt: null,
    reason: null,
    corrections: [],
    key: null,
    clarifications: [story.CLARIFICATION],
  },
  getMarketHistory: [
    { t: story.CREATED_AT, yes: story.YES_BEFORE, no: 1 - story.YES_BEFORE },
    { t: story.TRADED_AT, yes: PRICES.yes, no: PRICES.no },
  ],
  getMarketDepth: { yes: ladder("yes"), no: ladder("no") },
  suspendMarket: { id: MARKET, status: "suspended" },
  clarifyMarket: { ...story.CLARIFICATION, marketId: MARKET },
  resumeMarket: { id: MARKET, status: "open" },
  previewSettlement: {
    marketId: MARKET,
    question: QUESTION,
    status: "closed",
    closeAt: story.CLOSE_AT,
    resolutionRef: story.REFERENCE,
    outcome: "yes",
    price: PRICES.yes,
    payouts: 1,
    escrowUsd: story.ESCROW,
    totalUsd: SHARES,
    costUsd: FILL.amount,
    fromFeesUsd: 0,
    fromTreasuryUsd: 0,
    toTreasuryUsd: story.RETURNED_IF_YES,
    houseResultUsd: story.HOUSE_IF_YES,
    terms: TERMS,
    largest: { userId: story.USER, amountUsd: SHARES },
  },
  settleMarket: { id: MARKET, status: "settled", outcome: "yes", settledAt: story.SETTLED_AT, payoutsProcessed: 1 },
  voidMarket: {
    ...{ id: MARKET, status: "settled", outcome: "void", settledAt: story.SETTLED_AT, payoutsProcessed: 1 },
    ...{ refundedUsd: FILL.amount, fromFeesUsd: FILL.fee, fromTreasuryUsd: 0, toTreasuryUsd: story.RETURNED_IF_VOID },
  },
  previewCorrection: {
    marketId: MARKET,
    from: "yes",
    to: "no",
    ...corrected,
    terms: TERMS,
    until: story.CORRECTABLE_UNTIL,
  },
  correctMarket: {
    ...{ id: MARKET, status: "settled", from: "yes", outcome: "no", correctedAt: story.CORRECTED_AT },
    ...corrected,
  },
  quoteTrade: quote,
  placeTrade: traded,
  placeOrder: { ...traded, ...filled, hedgeRef: story.HEDGE },
  listOrders: [order],
  getOrder: order,
  listPositions: positions,
  getPortfolio: portfolio,
  getUserPortfolio: portfolio,
  listMarketPositions: [
    {
      ...{ userId: story.USER, yesShares: SHARES, yesCost: FILL.amount, noShares: 0, noCost: 0 },
      ...{ value: story.WORTH, yesPayout: SHARES, noPayout: 0 },
    },
  ],
  submitSuitability: { score: SCORE, exposureCapMinor: CAP_MINOR, passed: true },
  getSuitability: { completed: true, score: SCORE, exposureCapMinor: CAP_MINOR, updatedAt: story.CREATED_AT },
  getEligibility: eligibility,
  getUserEligibility: eligibility,
  getWallet: story.WALLET,
  listStatement: statement,
  listUserStatement: statement,
  requestWithdrawal: withdrawal,
  listWithdrawals: [{ ...withdrawal, userId: story.USER }],
  approveWithdrawal: { ...withdrawal, status: "approved", userId: story.USER },
  rejectWithdrawal: { ...withdrawal, status: "rejected", userId: story.USER },
  createSession: { userId: story.USER, expiresAt: "2026-01-01T13:00:00.000Z" },
};
