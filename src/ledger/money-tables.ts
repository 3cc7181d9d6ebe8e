import type { Transfer } from "../engine/draft.ts";
import type { Tables } from "../engine/rows.ts";
import { bigint, integer, journal, line, merged, replaced, text, whole } from "./codec.ts";
import type { FundingDay } from "./rollups.ts";

/** Accounts, transfers between them, and the rows that prevent a provider's event from counting twice. */
export const MONEY_TABLES = {
  account: replaced<Tables["account"]>("account", ["id"], "chain", { id: line(), balanceMicro: bigint() }),
  fundingDay: merged<FundingDay>(
    "funding_day",
    ["day", "provider"],
    "chain",
    { day: whole(), provider: text(), inflowMicro: bigint(), outflowMicro: bigint() },
    { server: "update", adds: ["inflowMicro", "outflowMicro"] },
  ),
  // A forged row would suppress a provider's event. Without the row the same bytes are processed again, and receipts,
  // payments and the time of the last KYC event prevent double counting.
  inboundDelivery: journal<Tables["inboundDelivery"]>("inbound_delivery", ["provider", "sha256"], "mac", {
    provider: text(),
    sha256: text(),
    event: text(),
    reference: text(),
    userId: text(),
    outcome: text(),
    body: text(),
    receivedAt: whole(),
    seal: text(),
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
  receipt: journal<Tables["receipt"]>("receipt", ["provider", "reference"], "chain", {
    provider: text(),
    reference: text(),
    amountMicro: bigint(),
    userId: text(),
    seal: text(),
  }),
  transfer: journal<{ seq: bigint } & Transfer & { leg: number }>("transfer", ["seq", "leg"], "chain", {
    seq: bigint(),
    leg: integer(),
    debit: line(),
    credit: line(),
    amountMicro: bigint(),
  }),
  withdrawal: replaced<Tables["withdrawal"]>("withdrawal", ["id"], "chain", {
    id: text(),
    traderId: text(),
    amountMicro: bigint(),
    status: text(),
    createdAt: whole(),
    decidedAt: whole(),
  }),
};
