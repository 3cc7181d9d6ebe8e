import { decimalFromMicro, microFromUsd } from "../../../domain/money.ts";
import { DEFAULT_POLICY } from "../../../domain/policy/policy.ts";
import * as story from "./story.ts";
import type { OutputExamples } from "./trader-answers.ts";

const { FILL, MARKET, QUESTION, SHARES, USER } = story;

const user = {
  userId: USER,
  state: "verified" as const,
  jurisdiction: "GB",
  suitabilityScore: 12,
  balanceUsd: story.BALANCE,
  exposureUsd: FILL.amount,
  owedUsd: 0,
  createdAt: story.CREATED_AT,
};

const decimal = (usd: number) => decimalFromMicro(microFromUsd(usd) ?? 0n);

/** As the log stores it: amounts are decimal text, and keys are sorted. */
const payload = {
  amount: decimal(FILL.amount),
  fee: decimal(FILL.fee),
  marketId: MARKET,
  shares: decimal(SHARES),
  side: FILL.side,
  tradeId: story.TRADE,
  userId: USER,
  yesPriceAfter: String(FILL.yesPriceAfter),
};
const HASH = "7f1c9a52d0be4c6f8e3157b2a96d0c48f5e2b7193a6cd8045b1f7e92c3a0d864";
const entry = {
  seq: 7,
  type: "trade.executed",
  actor: `user:${USER}`,
  payload,
  hash: HASH,
  ts: FILL.ts,
  keyId: "ak_6629839654c6",
  payloadText: JSON.stringify(payload),
};

const funding = { inflows: story.DEPOSIT, outflows: 0 };
const totals = { volume: FILL.amount, trades: 1 };
const totalPnl = story.UNREALIZED;
const unfrozen = { tenant: "acme", frozenUntil: null, reason: null, by: null };

const refusal = {
  requestId: "req_019f2c6e33",
  ts: story.TRADED_AT,
  operation: "placeTrade",
  status: 400,
  code: "MAX_TRADE_EXCEEDED",
  error: "Amount is over the limit of 500 USD per trade",
  actor: `user:${USER}`,
  userId: USER,
  marketId: MARKET,
  detail: { field: "policy.maxTradeUsd", limit: "500", value: "700" },
};
const noDay = {
  ...{ volume: 0, fees: 0, spreadIncome: 0, houseRevenue: 0 },
  ...{ settledMarkets: 0, activeTraders: 0, exposure: 0 },
};
const daily = {
  ...noDay,
  volume: FILL.amount,
  fees: FILL.fee,
  houseRevenue: FILL.fee,
  activeTraders: 1,
  exposure: story.LIABILITY,
};
const times = { requests: 1_200, failed: 0, tooMany: 3, p50Ms: 1.8, p99Ms: 9.4 };

/** The answers for operators in the story. */
export const OPERATOR_ANSWERS: OutputExamples = {
  getHealth: { ok: true, service: "acme", db: true, uptimeSec: 86_400 },
  getServer: {
    answeredBy: "web1-4711-9f3a21c8",
    servers: [
      {
        server: "web1-4711-9f3a21c8",
        version: "1.0.0",
        since: story.CREATED_AT,
        url: "https://markets.example.com",
        work: ["oracle", "closing", "overrides", "webhooks", "audit"],
      },
    ],
    database: {
      host: "db1:5432",
      version: "18.4",
      survives: "machine",
      standbys: [{ name: "db2", state: "streaming", sync: "sync", lagBytes: 0 }],
      synchronousStandbys: 1,
      required: 1,
      checkedAt: story.SETTLED_AT,
    },
    queue: 0,
    recent: { since: story.TRADED_AT, ...times, groups: [{ group: "trading", ...times }] },
    clients: [{ kind: "address", client: "203.0.113.7", requests: 118, limit: 120, endsAt: story.SETTLED_AT }],
    certificates: [{ section: "server.tls", expiresAt: story.CLOSE_AT }],
    lastBackup: { at: story.TRADED_AT },
  },
  reconcile: { ok: true, discrepancy: 0, checkedAt: story.SETTLED_AT, verifiedAt: story.SETTLED_AT },
  explainLedger: [
    {
      name: "escrow",
      unit: "usd",
      ok: true,
      discrepancy: 0,
      stated: story.ESCROW,
      expected: story.ESCROW,
      rows: 0,
      places: [],
    },
  ],
  listAudit: { entries: [entry], cursor: null, questions: { [MARKET]: QUESTION } },
  getAuditEntry: { ...entry, sentence: `${USER} bought ${SHARES.toFixed(2)} Yes of '${QUESTION}' for $25.00` },
  getAuditStatus: { verified: true, head: HASH, count: 7, problem: null, anchor: null },
  listUsers: [user],
  getUser: { ...user, kyc: "verified", pendingWithdrawalsUsd: 0, revokeBefore: null },
  creditWallet: { userId: USER, amount: 25, balanceUsd: story.BALANCE + 25, ts: story.TRADED_AT },
  debitWallet: { userId: USER, amount: 25, balanceUsd: story.BALANCE, ts: story.TRADED_AT },
  restrictUser: { userId: USER, state: "restricted" },
  releaseUser: { userId: USER, state: "verified" },
  revokeUser: { userId: USER, revokeBefore: story.TRADED_AT },
  getPolicy: DEFAULT_POLICY,
  updatePolicy: { ...DEFAULT_POLICY, updatedAt: story.TRADED_AT },
  getOverviewReport: {
    periodDays: 30,
    totalVolume: FILL.amount,
    houseRevenue: FILL.fee,
    settledMarkets: 0,
    activeTraders: 1,
  },
  getHouseReport: {
    periodDays: 30,
    totalFees: FILL.fee,
    refunds: { markets: 0, positions: 0, paid: 0, fees: 0, treasury: 0 },
    spreadIncome: 0,
    byCategory: [
      { category: "crypto", revenue: FILL.fee, volume: FILL.amount, netMargin: DEFAULT_POLICY.feeBps / 10_000 },
    ],
  },
  getDailyReport: { periodDays: 1, now: daily, before: noDay, days: [{ day: "2026-01-01T00:00:00.000Z", ...daily }] },
  getTradersReport: {
    periodDays: 30,
    traders: [
      {
        userId: USER,
        ...totals,
        markets: 1,
        winRate: null,
        realizedPnl: 0,
        unrealizedPnl: story.UNREALIZED,
        sellPnl: story.SELL_PNL,
        totalPnl,
      },
    ],
    totals: { traders: 1, ...totals, totalPnl },
  },
  getFundingReport: {
    periodDays: 30,
    ...funding,
    pendingWithdrawals: 0,
    owedUsd: 0,
    netMovement: story.DEPOSIT,
    byProvider: [{ provider: "payments", ...funding }],
  },
  getRiskReport: {
    markets: 1,
    maxLiability: story.LIABILITY,
    treasuryUsd: 9000,
    pricedMarkets: 0,
    byCategory: [{ category: "crypto", markets: 1, maxLiability: story.LIABILITY }],
    items: [
      {
        ...{ marketId: MARKET, question: QUESTION, maxLiability: story.LIABILITY, yesPayout: SHARES, noPayout: 0 },
        ...{ status: "open", outcome: null },
      },
    ],
  },
  listRisk: [{ marketId: MARKET, question: QUESTION, maxLiability: story.LIABILITY, yesPayout: SHARES, noPayout: 0 }],
  getHedgeExposure: {
    hedgeBook: [
      {
        symbol: "BTCUSD",
        openTrades: 1,
        longHedges: 1,
        shortHedges: 0,
        totalNotionalMinor: 100_000,
        activeCostMinor: FILL.amount * 100,
      },
    ],
    updatedAt: story.TRADED_AT,
  },
  getOracleStatus: {
    supportedFeeds: 41,
    eligibleMarkets: 0,
    lastSweepAt: story.SETTLED_AT,
    recentResolutions: [
      {
        sequence: 8,
        ts: story.SETTLED_AT,
        marketId: MARKET,
        ref: "pm:btc",
        price: 100_412.5,
        strike: 100_000,
        strikes: [100_000],
        outcome: 1,
        question: QUESTION,
      },
    ],
  },
  sweepOracle: { watched: 1, asked: 3, settled: [MARKET], held: [] },
  listHeldMarkets: [
    {
      marketId: MARKET,
      question: QUESTION,
      resolutionRef: story.REFERENCE,
      reason: "stale",
      detail: "the last price is 95 s older than the instant that decides",
      heldAt: story.SETTLED_AT,
    },
  ],
  explainTrade: {
    tradeId: story.TRADE,
    marketId: MARKET,
    question: QUESTION,
    userId: USER,
    side: FILL.side,
    action: "buy",
    amount: FILL.amount,
    fee: FILL.fee,
    shares: SHARES,
    avgPrice: FILL.avgPrice,
    yesPriceBefore: story.YES_BEFORE,
    yesPriceAfter: FILL.yesPriceAfter,
    ts: FILL.ts,
    entry,
  },
  listRefusals: [refusal],
  getRefusal: refusal,
  findIds: [{ ref: "019f2c3a", matches: [{ id: MARKET, label: QUESTION }] }],
  getFreeze: unfrozen,
  freezeConfig: {
    tenant: "acme",
    frozenUntil: story.CLOSE_AT,
    reason: "an incident with the payment provider",
    by: "admin:ops",
  },
  unfreezeConfig: unfrozen,
  applyConfig: { changed: true, seq: 8 },
};
