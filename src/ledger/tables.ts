import { isScope, type Scope, usualScopes } from "../domain/access/scopes.ts";
import type { AuditEntry } from "../domain/audit/audit-link.ts";
import type { HedgeRef } from "../domain/hedge.ts";
import { type Policy, storedPolicy } from "../domain/policy/policy.ts";
import type { Trade, Transfer } from "../engine/draft.ts";
import type { Table, Tables } from "../engine/rows.ts";
import {
  bigint,
  converted,
  flag,
  integer,
  journal,
  json,
  line,
  merged,
  named,
  replaced,
  smallint,
  type TableCodec,
  text,
  whole,
  words,
} from "./codec.ts";
import type { FundingDay, MarketHour, TraderDay } from "./rollups.ts";

/** An entry's place in the log. */
interface Placed {
  seq: bigint;
}

/** A key as its row holds it. Rows of older versions hold neither scopes nor networks. */
type KeyFields = Omit<Tables["apiKey"], "onRecord" | "scopes" | "from"> & {
  scopes: readonly Scope[] | null;
  from: readonly string[] | null;
};

type WatchFields = Omit<Tables["watch"], "hold"> & {
  reason: string | null;
  detail: string | null;
  heldAt: number | null;
};

/**
 * The tables that the commit statement writes, in its order. Each one's columns, the statement's part for it, its loader,
 * what the server's login may do with it and what vouches for its rows at a restore follow from its codec.
 */
export const TABLES = {
  account: replaced<Tables["account"]>("account", ["id"], "chain", { id: line(), balanceMicro: bigint() }),
  apiKey: converted<Tables["apiKey"], KeyFields>(
    replaced("api_key", ["hash"], "chain", {
      hash: text(),
      name: text(),
      type: text(),
      scopes: words(isScope),
      from: named(
        "networks",
        words((word): word is string => word !== ""),
      ),
      createdAt: whole(),
      expiresAt: whole(),
    }),
    (key) => key,
    // As it stands in the table: no audit entry has confirmed it yet.
    ({ scopes, from, ...key }) => ({
      ...key,
      scopes: scopes ?? usualScopes(key.type),
      from: from ?? [],
      onRecord: false,
    }),
  ),
  assessment: journal<Tables["assessment"]>("assessment", ["id"], "chain", {
    id: text(),
    traderId: text(),
    answers: text(),
    score: smallint(),
    submittedAt: whole(),
  }),
  audit: journal<AuditEntry>("audit", ["seq"], "chain", {
    seq: bigint(),
    type: line(),
    actor: line(),
    payloadText: named("payload", line()),
    ts: line(),
    keyId: line(),
    hash: line(),
  }),
  // The table keeps its first name.
  marketState: replaced<Tables["marketState"]>("book", ["marketId"], "chain", {
    marketId: text(),
    status: text(),
    yesMicro: bigint(),
    noMicro: bigint(),
    volumeMicro: bigint(),
    outcome: text(),
    settledAt: whole(),
    closingRecorded: flag(),
  }),
  fundingDay: merged<FundingDay>(
    "funding_day",
    ["day", "provider"],
    "chain",
    { day: whole(), provider: text(), inflowMicro: bigint(), outflowMicro: bigint() },
    { server: "update", adds: ["inflowMicro", "outflowMicro"] },
  ),
  hedge: journal<Placed & HedgeRef & { marketId: string }>("hedge", ["seq"], "chain", {
    seq: bigint(),
    marketId: text(),
    symbol: text(),
    direction: text(),
    notional: named("notional_minor", whole()),
    externalRef: text(),
  }),
  hour: merged<MarketHour>(
    "market_hour",
    ["marketId", "hour"],
    "chain",
    {
      marketId: line(),
      hour: whole(),
      volumeMicro: bigint(),
      yesPricePpm: integer(),
      feeMicro: bigint(),
    },
    { server: "update", adds: ["volumeMicro", "feeMicro"] },
  ),
  // A forged row would swallow a provider's event. Without the row the same bytes are taken into account again, and
  // receipts, payments and the time of the last KYC event keep them from counting twice.
  inboundDelivery: journal<Tables["inboundDelivery"]>("inbound_delivery", ["provider", "sha256"], "mac", {
    provider: text(),
    sha256: text(),
    event: text(),
    reference: text(),
    userId: text(),
    outcome: text(),
    body: text(),
    receivedAt: whole(),
  }),
  market: journal<Tables["market"]>("market", ["id"], "chain", {
    id: text(),
    question: text(),
    category: text(),
    kind: text(),
    p0Ppm: integer(),
    fundMicro: bigint(),
    closeAt: whole(),
    resolutionRef: text(),
    meta: text(),
    createdAt: whole(),
    fileKey: text(),
    houseYesMicro: bigint(),
    houseNoMicro: bigint(),
    terms: text(),
  }),
  payment: replaced<Tables["payment"]>("payment", ["provider", "reference"], "chain", {
    provider: text(),
    reference: text(),
    userId: text(),
    creditedMicro: bigint(),
    receivedMicro: bigint(),
    refundsMicro: bigint(),
    refundTotalMicro: bigint(),
    refundsFailedMicro: bigint(),
    disputedMicro: bigint(),
    disputesWonMicro: bigint(),
    takenBackMicro: bigint(),
  }),
  position: replaced<Tables["position"]>("position", ["traderId", "marketId", "side"], "chain", {
    traderId: line(),
    marketId: line(),
    side: line(),
    sharesMicro: bigint(),
    costMicro: bigint(),
  }),
  receipt: journal<Tables["receipt"]>("receipt", ["provider", "reference"], "chain", {
    provider: text(),
    reference: text(),
    amountMicro: bigint(),
    userId: text(),
  }),
  // A forged row would answer a retry with what never happened. Without the row a retry is decided anew. Only an expired
  // answer is still there when a new one is stored.
  storedAnswer: merged<Tables["storedAnswer"]>(
    "stored_answer",
    ["caller", "key"],
    "mac",
    {
      caller: text(),
      key: text(),
      requestHash: text(),
      status: smallint(),
      body: text(),
      createdAt: whole(),
    },
    { server: "delete", adds: [] },
  ),
  tenant: replaced<Tables["tenant"]>("tenant", [], "chain", {
    policy: { ...json<Policy>(), decode: (stored) => storedPolicy(JSON.parse(stored)) },
    overrides: json(),
    policyUpdatedAt: whole(),
    kycRequired: flag(),
    liquidityMicro: bigint(),
    capitalMicro: bigint(),
    document: text(),
  }),
  trade: journal<Placed & Omit<Trade, "hedgeRef">>("trade", ["seq"], "chain", {
    seq: bigint(),
    id: line(),
    marketId: line(),
    traderId: line(),
    side: line(),
    amountMicro: bigint(),
    feeMicro: bigint(),
    sharesMicro: bigint(),
    releasedMicro: bigint(),
    yesPricePpm: integer(),
    ts: whole(),
  }),
  trader: replaced<Tables["trader"]>("trader", ["id"], "chain", {
    id: text(),
    kyc: text(),
    restricted: flag(),
    jurisdiction: text(),
    kycAt: whole(),
    suitabilityScore: smallint(),
    suitabilityAt: whole(),
    createdAt: whole(),
  }),
  traderDay: merged<TraderDay>(
    "trader_day",
    ["day", "traderId", "marketId"],
    "chain",
    {
      day: whole(),
      traderId: line(),
      marketId: line(),
      volumeMicro: bigint(),
      trades: integer(),
      realizedMicro: bigint(),
    },
    { server: "update", adds: ["volumeMicro", "trades", "realizedMicro"] },
  ),
  transfer: journal<Placed & Transfer & { leg: number }>("transfer", ["seq", "leg"], "chain", {
    seq: bigint(),
    leg: integer(),
    debit: line(),
    credit: line(),
    amountMicro: bigint(),
  }),
  watch: converted<Tables["watch"], WatchFields>(
    replaced("oracle_watch", ["marketId"], "chain", {
      marketId: text(),
      instantAt: whole(),
      parsed: flag(),
      settled: flag(),
      reason: text(),
      detail: text(),
      heldAt: whole(),
    }),
    ({ hold, ...watch }) => ({
      ...watch,
      reason: hold?.reason ?? null,
      detail: hold?.detail ?? null,
      heldAt: hold?.at ?? null,
    }),
    ({ reason, detail, heldAt, ...watch }) => ({
      ...watch,
      hold: reason === null || detail === null || heldAt === null ? null : { reason, detail, at: heldAt },
    }),
  ),
  withdrawal: replaced<Tables["withdrawal"]>("withdrawal", ["id"], "chain", {
    id: text(),
    traderId: text(),
    amountMicro: bigint(),
    status: text(),
    createdAt: whole(),
    decidedAt: whole(),
  }),
};

/** Rows that live in a process's memory only. */
type Derived = "holders" | "keyring" | "pastRecord" | "portfolio" | "revocation" | "tenantRecord";

/** The codecs of the rows that commands read and write. One that is missing does not compile. */
export const CODECS: { [T in Exclude<Table, Derived>]: TableCodec<Tables[T]> } & { [T in Derived]?: undefined } =
  TABLES;
