import type { MarketKind, Side } from "../domain/market.ts";
import type { Policy, PolicyPatch } from "../domain/policy.ts";
import { type Delivery, type KeepDelivery, needsOfDelivery } from "./deliveries.ts";
import { needsOfPayment, type RecordPayment } from "./payments.ts";
import {
  type ApiKey,
  CAPITAL,
  escrowOf,
  externalOf,
  FEES,
  type Need,
  pendingOf,
  receiptKey,
  receivableOf,
  SINGLE,
  TREASURY,
  walletOf,
} from "./rows.ts";
import type { TraderCommand, TraderResults } from "./trader-commands.ts";

export type * from "./trader-commands.ts";

export interface CreateMarket {
  type: "createMarket";
  id: string;
  question: string;
  category: string;
  kind: MarketKind;
  p0Ppm: number;
  closeAt: number;
  resolutionRef: string;
  meta: string;
  liquidityMicro: bigint | null;
}

export interface SuspendMarket {
  type: "suspendMarket";
  marketId: string;
}

export interface ResumeMarket {
  type: "resumeMarket";
  marketId: string;
}

export interface SettleMarket {
  type: "settleMarket";
  marketId: string;
  outcome: Side;
}

/** Puts on record, once, that the closing time has passed. */
export interface CloseMarket {
  type: "closeMarket";
  marketId: string;
}

export interface UpdatePolicy {
  type: "updatePolicy";
  patch: PolicyPatch;
  /** Only if the tenant row is one of these versions: what the caller has seen. */
  ifVersion?: readonly number[] | undefined;
}

export interface RecordKyc {
  type: "recordKyc";
  traderId: string;
  status: string;
  provider: string;
  verifiedAt: number;
  jurisdiction: string | undefined;
  delivery?: Delivery | undefined;
}

export interface RecordDeposit {
  type: "recordDeposit";
  provider: string;
  traderId: string;
  amountMicro: bigint;
  reference: string;
  delivery?: Delivery | undefined;
}

export interface RecordReconciliation {
  type: "recordReconciliation";
  ok: boolean;
  discrepancyMicro: bigint;
}

/** The first form of apply: everything the tenant file manages, in one commit. */
export interface ApplyConfig {
  type: "applyConfig";
  /** What the file states; fields it leaves out stay as they are. */
  policy: PolicyPatch;
  kycRequired: boolean;
  liquidityMicro: bigint;
  capitalMicro: bigint;
  keys: Pick<ApiKey, "hash" | "name" | "type" | "expiresAt">[];
  /** The document without secrets, canonical JSON. */
  document: string;
  documentSha256: string;
  gitCommit: string | undefined;
}

export type Command =
  | CreateMarket
  | SuspendMarket
  | ResumeMarket
  | SettleMarket
  | CloseMarket
  | TraderCommand
  | UpdatePolicy
  | RecordKyc
  | RecordDeposit
  | RecordPayment
  | KeepDelivery
  | RecordReconciliation
  | ApplyConfig;

/** What each command resolves to. */
export interface Results extends TraderResults {
  createMarket: { id: string; yesPrice: number; createdAt: number };
  suspendMarket: { id: string; status: "suspended" };
  resumeMarket: { id: string; status: "open" };
  settleMarket: { id: string; outcome: Side; settledAt: number; payoutsProcessed: number };
  closeMarket: { recorded: boolean };
  updatePolicy: { policy: Policy; updatedAt: number; version: number };
  recordKyc: undefined;
  recordDeposit: undefined;
  /** Whom the payment belongs to; not the caller's owner: nothing was done, ask again with this one. */
  recordPayment: { ownerId: string | undefined };
  keepDelivery: undefined;
  recordReconciliation: { checkedAt: number };
  applyConfig: { changed: boolean };
}

const tenant: Need = { table: "tenant", key: SINGLE };
const account = (key: string): Need => ({ table: "account", key });
const market = (key: string): Need[] => [
  { table: "market", key },
  { table: "book", key },
];

/** The rows that a command may read. Reading one that is not named here would see "absent" and be wrong. */
export function needsOf(command: Command): Need[] {
  switch (command.type) {
    case "createMarket":
      return [tenant, account(TREASURY)];
    case "suspendMarket":
    case "resumeMarket":
    case "closeMarket":
      return market(command.marketId);
    case "settleMarket": {
      const holders: Need = { table: "holders", key: command.marketId };
      return [...market(command.marketId), account(escrowOf(command.marketId)), account(TREASURY), holders];
    }
    case "placeTrade":
    case "sellShares":
      return [
        tenant,
        ...market(command.marketId),
        { table: "trader", key: command.traderId },
        { table: "portfolio", key: command.traderId },
        account(walletOf(command.traderId)),
        account(escrowOf(command.marketId)),
        account(FEES),
      ];
    case "submitSuitability":
      return [tenant, { table: "trader", key: command.traderId }];
    case "restrictUser":
      return [{ table: "trader", key: command.traderId }];
    case "creditWallet":
      return [
        { table: "trader", key: command.traderId },
        account(walletOf(command.traderId)),
        account(externalOf("operator")),
      ];
    case "requestWithdrawal":
      return [
        { table: "trader", key: command.traderId },
        account(walletOf(command.traderId)),
        account(pendingOf(command.traderId)),
      ];
    case "decideWithdrawal":
      return [
        { table: "withdrawal", key: command.id },
        account(walletOf(command.traderId)),
        account(pendingOf(command.traderId)),
        account(externalOf("withdrawals")),
      ];
    case "updatePolicy":
      return [tenant];
    case "recordKyc":
      return [{ table: "trader", key: command.traderId }, ...needsOfDelivery(command.delivery)];
    case "recordDeposit":
      return [
        ...needsOfDelivery(command.delivery),
        { table: "receipt", key: receiptKey(command.provider, command.reference) },
        { table: "trader", key: command.traderId },
        account(walletOf(command.traderId)),
        account(receivableOf(command.traderId)),
        account(externalOf(command.provider)),
      ];
    case "recordPayment":
      return needsOfPayment(command);
    case "keepDelivery":
      return needsOfDelivery(command.delivery);
    case "recordReconciliation":
      return [];
    case "applyConfig":
      return [tenant, { table: "keyring", key: SINGLE }, account(CAPITAL), account(TREASURY)];
  }
}

/**
 * A settlement reads every holder from the database, so it must not share a batch with trades that are not there yet. A
 * version moves once per batch, so two policy updates in one would both pass the same precondition.
 */
export function needsOwnBatch(command: Command): boolean {
  return command.type === "settleMarket" || command.type === "updatePolicy";
}
