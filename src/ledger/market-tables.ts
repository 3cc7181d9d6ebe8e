import type { HedgeRef } from "../domain/market/hedge.ts";
import type { MarketHour, Trade, TraderDay } from "../engine/draft.ts";
import type { Tables } from "../engine/rows.ts";
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
  text,
  whole,
} from "./codec.ts";

type WatchFields = Omit<Tables["watch"], "hold"> & {
  reason: string | null;
  detail: string | null;
  heldAt: number | null;
};

/** Markets, the trades on them, and the positions of traders. */
export const MARKET_TABLES = {
  clarification: journal<Tables["clarification"]>("clarification", ["marketId", "position"], "chain", {
    marketId: text(),
    position: integer(),
    id: text(),
    text: text(),
    at: whole(),
  }),
  hedge: journal<{ seq: bigint } & HedgeRef & { marketId: string }>("hedge", ["seq"], "chain", {
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
      hourVolumeMicro: named("volume_micro", bigint()),
      hourFeeMicro: named("fee_micro", bigint()),
      yesPricePpm: integer(),
    },
    { server: "update", adds: ["hourVolumeMicro", "hourFeeMicro"] },
  ),
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
    resolution: json(),
  }),
  // The table keeps its original name.
  marketState: replaced<Tables["marketState"]>("book", ["marketId"], "chain", {
    marketId: line(),
    status: line(),
    yesMicro: bigint(),
    noMicro: bigint(),
    volumeMicro: bigint(),
    outcome: text(),
    settledAt: whole(),
    closingRecorded: flag(),
    hour: whole(),
    hourVolumeMicro: bigint(),
    hourFeeMicro: bigint(),
    yesPricePpm: integer(),
  }),
  marketEnd: replaced<Tables["marketEnd"]>("market_end", ["marketId"], "chain", {
    marketId: text(),
    payouts: integer(),
    paidMicro: bigint(),
    feesMicro: bigint(),
    treasuryMicro: bigint(),
    reason: text(),
    corrections: json(),
  }),
  position: replaced<Tables["position"]>("position", ["traderId", "marketId", "side"], "chain", {
    traderId: line(),
    marketId: line(),
    side: line(),
    sharesMicro: bigint(),
    costMicro: bigint(),
    day: whole(),
    dayVolumeMicro: bigint(),
    dayTrades: integer(),
    dayRealizedMicro: bigint(),
  }),
  trade: journal<{ seq: bigint } & Omit<Trade, "hedgeRef" | "hourOver" | "dayOver">>("trade", ["seq"], "chain", {
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
  traderDay: merged<TraderDay>(
    "trader_day",
    ["day", "traderId", "marketId"],
    "chain",
    {
      day: whole(),
      traderId: line(),
      marketId: line(),
      dayVolumeMicro: named("volume_micro", bigint()),
      dayTrades: named("trades", integer()),
      dayRealizedMicro: named("realized_micro", bigint()),
    },
    { server: "update", adds: ["dayVolumeMicro", "dayTrades", "dayRealizedMicro"] },
  ),
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
};
