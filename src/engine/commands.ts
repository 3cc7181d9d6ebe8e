import type { MarketKind, Side } from "../domain/market/market.ts";
import type { MarketTerms } from "../domain/market/terms.ts";
import type { Policy, PolicyPatch } from "../domain/policy.ts";
import { type Delivery, type KeepDelivery, needsOfDelivery } from "./deliveries.ts";
import type { CreateKey, DeclaredKey, KeyInHand, KeyResults, RevokeKey, RotateKey } from "./keys.ts";
import type { PutOnRecord, RecordResults } from "./on-record.ts";
import type { HoldMarket, OracleEvidence } from "./oracle.ts";
import { needsOfPayment, type RecordPayment } from "./payments.ts";
import type { RecordRestore } from "./restore.ts";
import type { AcceptRollback } from "./rollback.ts";
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

export type * from "./oracle.ts";
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
  /** The market's key in the tenant's files, for one that a file declares. */
  fileKey?: string | undefined;
  /** What of the reference settles itself; without it a person does. */
  terms?: MarketTerms | null | undefined;
}

export type SuspendMarket = { type: "suspendMarket"; marketId: string };
export type ResumeMarket = { type: "resumeMarket"; marketId: string };

export interface SettleMarket {
  type: "settleMarket";
  marketId: string;
  outcome: Side;
  /** What whoever settles has seen; a settlement that would pay otherwise pays nothing. */
  expect?: { payouts?: number | undefined; totalMicro?: bigint | undefined } | undefined;
  /** Present when a machine settles: what it goes by, for the record. */
  oracle?: OracleEvidence | undefined;
}

/** Puts on record, once, that the closing time has passed. */
export interface CloseMarket {
  type: "closeMarket";
  marketId: string;
}

export interface UpdatePolicy {
  type: "updatePolicy";
  patch: PolicyPatch;
  /** How long the change holds; for good unless given. */
  ttlMs?: number | undefined;
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

/** Takes overrides that have ended out of the tenant's row, and puts their end on record. */
export interface EndOverrides {
  type: "endOverrides";
}

/** A market that a file declares, to be created with the state that it wants. */
export interface DeclaredMarket extends Omit<CreateMarket, "type"> {
  fileKey: string;
  liquidityMicro: bigint;
  state: "open" | "suspended";
}

/** What a plan wants to have changed, in one commit. */
export interface ApplyConfig extends KeyInHand {
  type: "applyConfig";
  /** Only if the tenant row is this version, 0 for a tenant that was never applied: what the plan was made on. */
  ifVersion?: number | undefined;
  /** The fields to write; the others keep their live values. */
  policy: PolicyPatch;
  kycRequired: boolean;
  liquidityMicro: bigint;
  /** Only rises: the difference to what was moved in so far is added. */
  capitalMicro: bigint;
  /** Keys to create, or whose scopes, networks or expiry change. Others are left alone. */
  keys: DeclaredKey[];
  /** Keys to end: by their name, and by their hash or how it begins. */
  revoke?: readonly Pick<ApiKey, "name" | "hash">[] | undefined;
  markets?: readonly DeclaredMarket[] | undefined;
  /** Of the markets to create one whose key in the files is taken: then the plan is stale. */
  takenKey?: string | undefined;
  /** Refused when a market's state is not `from` any more. */
  marketStates?: readonly { marketId: string; from: "open" | "suspended"; to: "open" | "suspended" }[] | undefined;
  /** The document without secrets, canonical JSON. */
  document: string;
  documentSha256: string;
  gitCommit: string | undefined;
  /** The entry whose document this is, when it was not the file's. */
  rollbackTo?: number | undefined;
  /** Fields whose live value was kept although the file says otherwise. */
  adopted?: string[] | undefined;
}

export type Command =
  | CreateMarket
  | SuspendMarket
  | ResumeMarket
  | SettleMarket
  | CloseMarket
  | HoldMarket
  | TraderCommand
  | UpdatePolicy
  | EndOverrides
  | RecordKyc
  | RecordDeposit
  | RecordPayment
  | KeepDelivery
  | RecordReconciliation
  | AcceptRollback
  | RecordRestore
  | ApplyConfig
  | PutOnRecord
  | CreateKey
  | RotateKey
  | RevokeKey;

/** What each command resolves to. */
export interface Results extends TraderResults, KeyResults, RecordResults {
  createMarket: { id: string; yesPrice: number; createdAt: number };
  suspendMarket: { id: string; status: "suspended" };
  resumeMarket: { id: string; status: "open" };
  settleMarket: { id: string; outcome: Side; settledAt: number; payoutsProcessed: number };
  closeMarket: { recorded: boolean };
  holdMarket: { recorded: boolean };
  updatePolicy: { policy: Policy; updatedAt: number; version: number };
  endOverrides: { ended: number };
  recordKyc: undefined;
  recordDeposit: undefined;
  /** Whom the payment belongs to; not the caller's owner: nothing was done, ask again with this one. */
  recordPayment: { ownerId: string | undefined };
  keepDelivery: undefined;
  recordReconciliation: { checkedAt: number };
  acceptRollback: undefined;
  recordRestore: undefined;
  applyConfig: { changed: boolean };
}

const tenant: Need = { table: "tenant", key: SINGLE };
/** Of a command that writes the tenant's row. */
const tenantToWrite: Need[] = [tenant, { table: "tenantRecord", key: SINGLE }];
const account = (key: string): Need => ({ table: "account", key });
const record = (["keyring", "pastRecord"] as const).map((table): Need => ({ table, key: SINGLE }));
const trader = (key: string): Need => ({ table: "trader", key });
const watch = (key: string): Need => ({ table: "watch", key });
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
      const escrow = account(escrowOf(command.marketId));
      // A machine settles only while the policy lets it.
      const policy = command.oracle ? [tenant] : [];
      return [...market(command.marketId), watch(command.marketId), escrow, account(TREASURY), holders, ...policy];
    }
    case "holdMarket":
      return [...market(command.marketId), watch(command.marketId)];
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
    case "revokeUser":
      return [trader(command.traderId), { table: "revocation", key: command.traderId }];
    case "creditWallet":
      return [trader(command.traderId), account(walletOf(command.traderId)), account(externalOf("operator"))];
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
    case "endOverrides":
      return tenantToWrite;
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
    case "acceptRollback":
    case "recordRestore":
      return [];
    case "applyConfig":
      return [
        ...tenantToWrite,
        ...record,
        account(CAPITAL),
        account(TREASURY),
        ...(command.marketStates ?? []).flatMap(({ marketId }) => market(marketId)),
      ];
    case "putOnRecord":
      return [tenant, ...record];
    case "createKey":
    case "rotateKey":
    case "revokeKey":
      return [{ table: "keyring", key: SINGLE }];
  }
}

/**
 * A settlement reads every holder from the database, so it must not share a batch with trades that are not there yet. A
 * version moves once per batch, so two changes of the tenant's row in one would both pass the same precondition.
 */
export function needsOwnBatch(command: Command): boolean {
  return (
    command.type === "settleMarket" ||
    command.type === "updatePolicy" ||
    command.type === "endOverrides" ||
    command.type === "applyConfig" ||
    command.type === "putOnRecord"
  );
}
