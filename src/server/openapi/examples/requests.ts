import type { OperationId, WireInput } from "../../../contract/operations.ts";
import { DEFAULT_POLICY } from "../../../domain/policy/policy.ts";
import * as story from "./story.ts";

const market = { id: story.MARKET };
const trade = { id: story.TRADE };
const withdrawal = { id: "wdr_019f2c5d21" };
const user = { id: story.USER };
const key = { name: "backend", type: "admin" as const };
const KEY_ENDS = "2032-01-01T00:00:00.000Z";

const purchase = { marketId: story.MARKET, amount: story.FILL.amount };

/**
 * The requests that belong to the story's answers, with the fields of path, query and body together. An operation
 * without an entry needs no field, or its schema has an example.
 */
export const REQUESTS: { readonly [Id in OperationId]?: Partial<WireInput<Id>> } = {
  getAuditEntry: { seq: 7 },
  receiveKyc: { userId: story.USER, status: "passed", provider: "idv", verifiedAt: story.CREATED_AT },
  receivePrice: { source: "desk", id: "steel", price: 731.5, observedAt: story.TRADED_AT },
  receiveStripe: {
    id: "evt_1QxExample",
    type: "payment_intent.succeeded",
    data: {
      object: {
        id: "pi_1QxExample",
        object: "payment_intent",
        status: "succeeded",
        currency: "usd",
        amount_received: 25_000,
        metadata: { userId: story.USER },
      },
    },
  },
  createMarket: {
    question: story.QUESTION,
    category: "crypto",
    kind: story.MECHANISM.kind,
    p0: story.YES_BEFORE,
    closeAt: story.CLOSE_AT,
    resolutionRef: story.REFERENCE,
    liquidityUsd: 1000,
  },
  listRecentPrices: { ids: story.MARKET },
  getMarket: market,
  getMarketHistory: market,
  getMarketDepth: market,
  suspendMarket: market,
  resumeMarket: market,
  clarifyMarket: { ...market, text: story.CLARIFICATION.text },
  previewSettlement: { ...market, outcome: "yes" },
  settleMarket: { marketId: story.MARKET, outcome: "yes", expectPayouts: 1, expectTotalUsd: story.SHARES },
  voidMarket: { reason: "The source never published the figure", expectTotalUsd: story.FILL.amount },
  correctMarket: { outcome: "no", reason: "The source corrected its figure" },
  quoteTrade: { ...purchase, selection: { side: "yes" } },
  placeTrade: { ...purchase, selection: { side: "yes" } },
  placeOrder: { ...purchase, selection: { outcome: 1 }, hedgeRef: story.HEDGE },
  getOrder: trade,
  submitSuitability: { answers: { q1: 3, q2: 3, q3: 3, q4: 3 } },
  requestWithdrawal: { amount: 25 },
  approveWithdrawal: withdrawal,
  rejectWithdrawal: withdrawal,
  getEligibility: { marketId: story.MARKET },
  getUserEligibility: { ...user, marketId: story.MARKET },
  getUserPortfolio: user,
  listUserStatement: user,
  listMarketPositions: market,
  getUser: user,
  creditWallet: { ...user, amount: 25, reason: "a refund of the fees of December", expectBalanceUsd: 100 },
  debitWallet: { ...user, amount: 25, reason: "credited to the wrong user" },
  restrictUser: user,
  releaseUser: user,
  revokeUser: { ...user, revokeBefore: story.TRADED_AT },
  updatePolicy: { maxTradeUsd: 500, jurisdictions: { blocked: ["US-NY"] } },
  listLatestPrices: { feeds: [{ key: "pm:btc", sources: [{ use: "coinbase", id: "BTC-USD" }] }] },
  listFeedSamples: { feed: "pm:btc" },
  checkFeeds: { feeds: ["pm:btc"] },
  getRefusal: { requestId: "req_019f2c6e33" },
  explainTrade: { tradeId: story.TRADE },
  createKey: { ...key, scopes: ["read", "settle"], from: ["192.0.2.0/24"], expiresAt: KEY_ENDS },
  rotateKey: { ...key, overlapSeconds: 3600 },
  revokeKey: key,
  replayWebhook: { id: "evt_42_0f3a9c51d2e87b64.backoffice" },
  getInboundWebhook: {
    provider: "payments",
    sha256: "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9",
  },
  getWebhookDelivery: { id: "evt_42_0f3a9c51d2e87b64.backoffice" },
  enableWebhookReceiver: { name: "backoffice" },
  testWebhookReceiver: { name: "backoffice" },
  findIds: { kind: "market", refs: "019f2c3a" },
  freezeConfig: { until: story.CLOSE_AT, reason: "an incident with the payment provider" },
  getApply: { seq: 7 },
  previewRollback: { seq: 7 },
  previewPolicy: {
    before: { policy: DEFAULT_POLICY, kycRequired: true },
    after: { policy: { ...DEFAULT_POLICY, maxTradeUsd: 20 }, kycRequired: true },
  },
};
