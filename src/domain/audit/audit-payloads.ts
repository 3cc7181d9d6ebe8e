import type { KeyType } from "../access/scopes.ts";
import type { HedgeRef } from "../market/hedge.ts";
import type { HoldReason } from "../market/hold.ts";
import type { MarketKind } from "../market/market-makers.ts";
import type { Side } from "../market/pool.ts";
import type { PolicyField } from "../policy/fields.ts";
import type { Policy } from "../policy/policy.ts";
import type { KycStatus, TraderState } from "../trader.ts";
import { type AuditEntry, type Json, payloadOf } from "./audit-link.ts";

/**
 * The payload of each type of audit entry; a new type is a line here, and writers and readers are typed from it.
 * Amounts are decimal texts of dollars, instants ISO 8601. All are types, not interfaces, so that the compiler knows them to be plain JSON.
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
    /** The rules and other words that traders read with the market. */
    meta: Json;
    liquidity: string;
    /** The market's key in the tenant's files. */
    key: string | undefined;
    terms: Json | undefined;
  };
  /** The files took over a market that was made otherwise, under this key, whether or not it had one. */
  "market.imported": { marketId: string; key: string };
  /** Another key in the tenant's files for the same market. */
  "market.moved": { marketId: string; from: string; key: string };
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
    /** Only in a sale, with what the shares had cost. */
    action?: "sell" | undefined;
    cost?: string | undefined;
    hedgeRef?: HedgeRef | undefined;
    amount: string;
    fee: string;
    /** What the user's token claimed, where the policy asks for a jurisdiction and the identity check named none. */
    jurisdiction?: string | undefined;
    shares: string;
    yesPriceAfter: string;
  };
  "kyc.updated": {
    userId: string;
    status: KycStatus;
    provider: string;
    verifiedAt: string;
    jurisdiction: string | undefined;
    /** Of a failure that counts although it is dated before the passed check on record: its own time. */
    datedAt?: string;
  };
  /** A check with a status that is neither passed nor a refusal; or one passed shortly before a failure, which stands. */
  "kyc.unrecognised": { userId: string; status: string; provider: string; verifiedAt: string };
  "suitability.submitted": {
    userId: string;
    assessmentId: string;
    answers: Record<string, number>;
    score: number;
    passed: boolean;
    submittedAt: string;
  };
  "user.restricted": { userId: string; restricted: boolean; state: TraderState };
  /** `sha256` of what the token's signature covers; it has expired `until` then. */
  "session.ended": { userId: string; sha256: string; until: string };
  "session.revoked": { userId: string; revokeBefore: string };
  "wallet.credited": {
    /** Of an operator's credit, which has no reference of a payment. */
    creditId?: string;
    userId: string;
    amount: string;
    /** The part of the amount that paid what the user owed. */
    receivable?: string | undefined;
    txRef?: string;
    provider: string;
    /** Why, unless it is a plain deposit. */
    cause?: string | undefined;
  };
  "wallet.debited": {
    /** Of an operator's debit, which has neither a reference of a payment nor a cause but the operator's reason. */
    debitId?: string;
    userId: string;
    amount: string;
    /** The part of the amount that the wallet did not hold: the user owes it. */
    receivable: string;
    txRef?: string;
    provider: string;
    cause?: string;
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
    /** When an override ends by itself. */
    until?: string;
    overridesEnded?: string[];
    state: StatedTenant;
  };
  "config.applied": {
    /** SHA-256 of the tenant file. */
    sha256: string;
    gitCommit: string | undefined;
    /** The whole policy at the first apply, changes later. */
    policy: Json;
    capitalAdded: string;
    document: Json;
    /** The entry that a rollback took the document from, instead of the file. */
    rollbackTo: number | undefined;
    /** Fields whose live value was kept although the file says otherwise. */
    adopted: string[] | undefined;
    /** Of an apply that broke a freeze: when that one ends. */
    frozenUntil?: string | undefined;
    state: StatedTenant;
  };
  /** No apply and no rollback until then; a later entry of either type replaces it. */
  "config.frozen": { until: string };
  /** `until`: when the freeze that was lifted would have ended. */
  "config.unfrozen": { until: string };
  "key.created": CreatedKey & {
    keys: StatedKeys;
    replaces?: true;
    /** When the replaced values end. */
    oldUntil?: string | null;
  };
  "key.revoked": { name: string; type: KeyType; keys: StatedKeys; replaced?: true };
  "reconcile.run": { ok: boolean; discrepancy: string };
  "rollback.accepted": { anchorSeq: number; anchorHash: string; headSeq: number; headHash: string; lost: number };
  /** `seq`: the entry in which the recomputation of the log found these. */
  "finding.accepted": { seq: number; findings: string[] };
  "database.restored": { seq: number; hash: string; created: string; keptAs: string | null; sha256: string };
};

/** What an oracle's outcome rests on. Numbers in it are decimal texts. */
export type ResolutionEvidence = {
  ref?: string | undefined;
  price?: string | undefined;
  strike?: string | undefined;
  [more: string]: Json | undefined;
};

type WithdrawalStep = { withdrawalId: string; userId: string; amount: string };

/** The changed policy fields. */
export type PolicyChanges = { [field: string]: { from: Json; to: Json } };

/** The whole tenant's row, with the SHA-256 of its document instead of the document. */
export type StatedTenant = {
  policy: Policy;
  overrides: { field: PolicyField; value: Json; until: string }[];
  policyUpdatedAt: string;
  kycRequired: boolean;
  liquidity: string;
  capital: string;
  document: string;
};

/** A new or changed value of a key, named by its hash. */
export type CreatedKey = {
  name: string;
  type: KeyType;
  sha256: string;
  scopes: string[];
  from: string[];
  expiresAt: string | null;
};

/** Every key value that an entry changes, by its hash, as it stands from then on. */
export type StatedKeys = {
  [hash: string]: { scopes: string[]; from: string[]; createdAt: string; expiresAt: string | null; leaked?: true };
};

export type AuditType = keyof AuditPayloads;

/** What an entry of any type may say besides. */
interface Remarks {
  /** What the operator wrote. */
  reason?: string;
  /** When the command was decided, where the database's clock had stepped back behind the log's last entry. */
  decidedAt?: string;
}

/** An entry's type and payload. */
export type AuditContent<T extends AuditType = AuditType> = {
  [Each in T]: { type: Each; payload: AuditPayloads[Each] & Remarks };
}[T];

/**
 * A log row's type and payload. The payload's fields are those that this version writes and are not checked: readers
 * rely on the chain's seal, and a tampered row is found by verification.
 * @returns undefined for a payload that is not a JSON object or empty, which only a tampered row holds
 */
export function contentOf({ type, payloadText }: Pick<AuditEntry, "type" | "payloadText">): AuditContent | undefined {
  return parsedContent({ type, payload: payloadOf({ payloadText }) });
}

/** The same of a payload that is parsed already. */
export function parsedContent({ type, payload }: { type: string; payload: object }): AuditContent | undefined {
  return Object.keys(payload).length === 0 ? undefined : ({ type, payload } as AuditContent);
}

/**
 * Whether a parsed entry is of one of the types. Its payload is typed as in {@link contentOf}, without a check of its
 * fields.
 */
export function isOfType<T extends AuditType, Entry extends { type: string; payload: object }>(
  entry: Entry,
  ...types: T[]
): entry is Entry & AuditContent<T> {
  return types.some((type) => type === entry.type);
}
