import type { KeyType } from "../access/scopes.ts";
import type { HedgeRef } from "../hedge.ts";
import type { HoldReason } from "../market/hold.ts";
import type { MarketKind } from "../market/market-makers.ts";
import type { Side } from "../market/pool.ts";
import type { PolicyField } from "../policy/fields.ts";
import type { Policy } from "../policy/policy.ts";
import type { TraderState } from "../trader.ts";
import { type AuditEntry, type Json, payloadOf } from "./audit-link.ts";

/**
 * What each type of audit entry says: a new type is a line here, from which those that write and read its entries are typed.
 * Amounts are decimal texts of dollars, instants ISO 8601. Entries of older versions say less: they lack `state` and
 * `keys`, and what stands beside them. All are types and no interfaces, so that the compiler knows them to be plain JSON.
 */
export type AuditPayloads = {
  "market.created": {
    marketId: string;
    question: string;
    category: string;
    kind: MarketKind;
    p0: string;
    closeAt: string;
    resolutionRef: string;
    liquidity: string;
    /** The market's key in the tenant's files. */
    key: string | undefined;
    terms: Json | undefined;
  };
  "market.suspended": { marketId: string };
  "market.resumed": { marketId: string };
  "market.closed": { marketId: string; closeAt: string };
  "market.settled": {
    marketId: string;
    outcome: Side;
    /** How many winners were paid. */
    payouts: number;
    paid: string;
    returned: string;
    houseResult: string;
  };
  "oracle.held": { marketId: string; reason: HoldReason; detail: string };
  "oracle.resolved": ResolutionEvidence & { marketId: string; outcome: Side };
  "trade.executed": {
    tradeId: string;
    marketId: string;
    userId: string;
    side: Side;
    /** Only of a sale, as is what the shares had cost. */
    action?: "sell";
    cost?: string;
    hedgeRef?: HedgeRef;
    amount: string;
    fee: string;
    shares: string;
    yesPriceAfter: string;
  };
  "kyc.updated": {
    userId: string;
    status: "passed" | "failed";
    provider: string;
    verifiedAt: string;
    jurisdiction: string | undefined;
  };
  "suitability.submitted": {
    userId: string;
    assessmentId: string;
    answers: Record<string, number>;
    score: number;
    passed: boolean;
    submittedAt: string;
  };
  "user.restricted": { userId: string; restricted: boolean; state: TraderState };
  "session.revoked": { userId: string; revokeBefore: string };
  "wallet.credited": {
    userId: string;
    amount: string;
    /** Of the amount, what the user owed. */
    receivable?: string | undefined;
    txRef?: string;
    provider: string;
    /** Why, where it is no plain deposit. */
    cause?: string | undefined;
  };
  "wallet.debited": {
    userId: string;
    amount: string;
    /** Of the amount, what the wallet did not hold: the user owes it. */
    receivable: string;
    txRef: string;
    provider: string;
    cause: string;
  };
  "payment.conflict": {
    provider?: string;
    txRef: string;
    problem?: string;
    userId?: string | undefined;
    amount?: string;
    creditedUserId?: string;
    creditedAmount?: string;
  };
  "withdrawal.requested": WithdrawalStep;
  "withdrawal.approved": WithdrawalStep;
  "withdrawal.rejected": WithdrawalStep;
  "policy.updated": {
    changes: PolicyChanges;
    /** When the change ends by itself. */
    until?: string;
    overridesEnded?: string[];
    state: StatedTenant;
  };
  "config.applied": {
    /** Of the tenant file. */
    sha256: string;
    gitCommit: string | undefined;
    /** The whole policy at the first apply, changes later. */
    policy: Json;
    capitalAdded: string;
    document: Json;
    /** The entry whose document this is, when it was not the file's. */
    rollbackTo: number | undefined;
    /** Fields whose live value was kept although the file says otherwise. */
    adopted: string[] | undefined;
    state: StatedTenant;
  };
  "key.created": CreatedKey & {
    keys: StatedKeys;
    replaces?: true;
    /** When the values that it replaces end. */
    oldUntil?: string | null;
    migrated?: true;
  };
  "key.revoked": { name: string; type: KeyType; keys: StatedKeys; replaced?: true; migrated?: true };
  "state.recorded": { keys: number; refused: { name: string; sha256: string }[]; state: StatedTenant };
  "reconcile.run": { ok: boolean; discrepancy: string };
  "rollback.accepted": { anchorSeq: number; anchorHash: string; headSeq: number; headHash: string; lost: number };
  "database.restored": { seq: number; hash: string; created: string; keptAs: string | null; sha256: string };
};

/** What led to a machine's outcome. Numbers in it are decimal texts. */
export type ResolutionEvidence = {
  ref?: string | undefined;
  price?: string | undefined;
  strike?: string | undefined;
  [more: string]: Json | undefined;
};

type WithdrawalStep = { withdrawalId: string; userId: string; amount: string };

/** Fields that changed. */
export type PolicyChanges = { [field: string]: { from: Json; to: Json } };

/** The tenant's row, whole, but for its document: of that the SHA-256. */
export type StatedTenant = {
  policy: Policy;
  overrides: { field: PolicyField; value: Json; until: string }[];
  policyUpdatedAt: string;
  kycRequired: boolean;
  liquidity: string;
  capital: string;
  document: string;
};

/** A new or renewed value of a key: the hash tells which it is. */
export type CreatedKey = {
  name: string;
  type: KeyType;
  sha256: string;
  scopes: string[];
  from: string[];
  expiresAt: string | null;
};

/** Every value of a name that an entry changes, by its hash, as it stands from then on. */
export type StatedKeys = {
  [hash: string]: { scopes: string[]; from: string[]; createdAt: string; expiresAt: string | null };
};

export type AuditType = keyof AuditPayloads;

/** The type of an entry and what it says. An operator's words may stand beside it. */
export type AuditContent<T extends AuditType = AuditType> = {
  [Each in T]: { type: Each; payload: AuditPayloads[Each] & { reason?: string } };
}[T];

/**
 * What a row of the log says, parsed. Nothing is verified here: the types are what this version writes.
 * @returns undefined for a text that says nothing, which only a row that was changed holds
 */
export function contentOf({ type, payloadText }: Pick<AuditEntry, "type" | "payloadText">): AuditContent | undefined {
  const payload: object = payloadOf({ payloadText });
  return Object.keys(payload).length === 0 ? undefined : ({ type, payload } as AuditContent);
}

/** Whether an entry that is parsed already is of one of the types. */
export function isOfType<T extends AuditType, Entry extends { type: string; payload: object }>(
  entry: Entry,
  ...types: T[]
): entry is Entry & AuditContent<T> {
  return types.some((type) => type === entry.type);
}
