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
 * The payload of each type of audit entry. A new type is a line here, from which writers and readers are typed. Amounts are
 * decimal texts of dollars, instants ISO 8601. All are types instead of interfaces, so that the compiler accepts them as JSON.
 */
export type AuditPayloads = {
  /** The market accepts trades from now on. By an apply or an operator. */
  "market.created": {
    marketId: string;
    question: string;
    category: string;
    kind: MarketKind;
    p0: string;
    closeAt: string;
    resolutionRef: string;
    /** The rules and other texts that traders read with the market. */
    meta: Json;
    liquidity: string;
    /** The market's key in the tenant's files. */
    key: string | undefined;
    terms: Json | undefined;
  };
  /** The tenant's files took over an existing market under this key. By an apply. */
  "market.imported": { marketId: string; key: string };
  /** The market's key in the tenant's files has changed. By an apply. */
  "market.moved": { marketId: string; from: string; key: string };
  /** The market accepts no trades until it is resumed. By an operator. */
  "market.suspended": { marketId: string };
  /** The market accepts trades again. By an operator. */
  "market.resumed": { marketId: string };
  /** The market's closing time has passed. By the oracle's sweep. */
  "market.closed": { marketId: string; closeAt: string };
  /** The winners were paid, and the rest returned to the treasury. By the oracle or an operator. */
  "market.settled": {
    marketId: string;
    outcome: Side;
    /** The number of paid winners. */
    payouts: number;
    paid: string;
    returned: string;
    houseResult: string;
  };
  /** The oracle leaves the settlement to a person. By the oracle. */
  "oracle.held": { marketId: string; reason: HoldReason; detail: string };
  /** The oracle's evidence, recorded just before its settlement. By the oracle. */
  "oracle.resolved": ResolutionEvidence & { marketId: string; outcome: Side };
  /** Shares were bought or sold. By the user, or by an operator on the user's behalf. */
  "trade.executed": {
    tradeId: string;
    marketId: string;
    userId: string;
    side: Side;
    /** Only in sales, which also state the cost of the sold shares. */
    action?: "sell" | undefined;
    cost?: string | undefined;
    hedgeRef?: HedgeRef | undefined;
    amount: string;
    fee: string;
    /** The claim of the user's token, if the policy requires a jurisdiction and the identity check named none. */
    jurisdiction?: string | undefined;
    shares: string;
    yesPriceAfter: string;
  };
  /** An identity check changed the user's rights. By the provider, or by an operator in its place. */
  "kyc.updated": {
    userId: string;
    status: KycStatus;
    provider: string;
    verifiedAt: string;
    jurisdiction: string | undefined;
    /** The failure's own time, if the failure counts although it is dated before the recorded pass. */
    datedAt?: string;
  };
  /** A check with a status other than passed or failed, or a pass dated shortly before a failure, which stays. By the provider. */
  "kyc.unrecognised": { userId: string; status: string; provider: string; verifiedAt: string };
  /** A user answered the suitability assessment. By the user, or by an operator on the user's behalf. */
  "suitability.submitted": {
    userId: string;
    assessmentId: string;
    answers: Record<string, number>;
    score: number;
    passed: boolean;
    submittedAt: string;
  };
  /** A user may no longer trade, or may trade again. By an operator. */
  "user.restricted": { userId: string; restricted: boolean; state: TraderState };
  /** A user signed out. `sha256` is the hash of the token's signed part, and the token has expired at `until`. By the user. */
  "session.ended": { userId: string; sha256: string; until: string };
  /** All sessions of a user that began before an instant have ended. By an operator, or by the user. */
  "session.revoked": { userId: string; revokeBefore: string };
  /** Money went into a wallet. By a payment provider, or by an operator. */
  "wallet.credited": {
    /** Set for an operator's credit, which has no payment reference. */
    creditId?: string;
    userId: string;
    amount: string;
    /** The part of the amount that repaid the user's debt. */
    receivable?: string | undefined;
    txRef?: string;
    provider: string;
    /** The cause, unless it is a plain deposit. */
    cause?: string | undefined;
  };
  /** Money was taken out of a wallet, such as after a dispute. By a payment provider, or by an operator. */
  "wallet.debited": {
    /** Set for an operator's debit, which has no payment reference and no cause except the operator's reason. */
    debitId?: string;
    userId: string;
    amount: string;
    /** The part of the amount that the wallet could not cover, which the user owes. */
    receivable: string;
    txRef?: string;
    provider: string;
    cause?: string;
  };
  /** A payment that moved nothing, because it contradicts the records. By a payment provider. */
  "payment.conflict": {
    provider?: string;
    txRef: string;
    problem?: string;
    userId?: string | undefined;
    amount?: string;
    creditedUserId?: string;
    creditedAmount?: string;
  };
  /** The amount is reserved until an operator decides. By the user, or by an operator on the user's behalf. */
  "withdrawal.requested": WithdrawalStep;
  /** The amount has left the ledger and must be paid out. By an operator. */
  "withdrawal.approved": WithdrawalStep;
  /** The amount returned to the wallet. By an operator. */
  "withdrawal.rejected": WithdrawalStep;
  /** Limits were changed directly, or an override ended. By an operator, or by the oracle's sweep. */
  "policy.updated": {
    changes: PolicyChanges;
    /** When the override ends by itself. */
    until?: string;
    overridesEnded?: string[];
    state: StatedTenant;
  };
  /** The tenant now matches its files. By the operator who applied or rolled back. */
  "config.applied": {
    /** SHA-256 of the tenant file. */
    sha256: string;
    gitCommit: string | undefined;
    /** The whole policy in the first apply; later only changes. */
    policy: Json;
    capitalAdded: string;
    document: Json;
    /** The entry whose document a rollback restored instead of the file. */
    rollbackTo: number | undefined;
    /** Fields whose live value was kept although the file has another value. */
    adopted: string[] | undefined;
    /** When the freeze would have ended that this apply broke. */
    frozenUntil?: string | undefined;
    state: StatedTenant;
  };
  /** Applies and rollbacks are blocked until that time; a later entry of either freeze type replaces this one. By an operator. */
  "config.frozen": { until: string };
  /** The freeze was lifted before its end, `until`. By an operator. */
  "config.unfrozen": { until: string };
  /** A value of an API key works from now on. By an operator or an apply. */
  "key.created": CreatedKey & {
    keys: StatedKeys;
    replaces?: true;
    /** When the replaced values stop working. */
    oldUntil?: string | null;
  };
  /** A value of an API key no longer works. By an operator or an apply. */
  "key.revoked": { name: string; type: KeyType; keys: StatedKeys; replaced?: true };
  /** The ledger was compared with its log. By an operator, or by the server's regular check. */
  "reconcile.run": { ok: boolean; discrepancy: string };
  /** A log that was set back continues without its lost entries. By an operator at the database. */
  "rollback.accepted": { anchorSeq: number; anchorHash: string; headSeq: number; headHash: string; lost: number };
  /** An operator accepted the entry `seq` with the recomputation's findings. By an operator at the database. */
  "finding.accepted": { seq: number; findings: string[] };
  /** The database was restored from a backup that ends at `seq`. By an operator at the database. */
  "database.restored": { seq: number; hash: string; created: string; keptAs: string | null; sha256: string };
};

/** The basis of an oracle's outcome. Numbers in it are decimal texts. */
export type ResolutionEvidence = {
  ref?: string | undefined;
  price?: string | undefined;
  strike?: string | undefined;
  [more: string]: Json | undefined;
};

type WithdrawalStep = { withdrawalId: string; userId: string; amount: string };

/** The changed policy fields. */
export type PolicyChanges = { [field: string]: { from: Json; to: Json } };

/** The tenant's whole row, with the SHA-256 of its document instead of the document. */
export type StatedTenant = {
  policy: Policy;
  overrides: { field: PolicyField; value: Json; until: string }[];
  policyUpdatedAt: string;
  kycRequired: boolean;
  liquidity: string;
  capital: string;
  document: string;
};

/** A new or changed value of a key, identified by its hash. */
export type CreatedKey = {
  name: string;
  type: KeyType;
  sha256: string;
  scopes: string[];
  from: string[];
  expiresAt: string | null;
};

/** Every key value that an entry changes, by its hash, in its new state. */
export type StatedKeys = {
  [hash: string]: { scopes: string[]; from: string[]; createdAt: string; expiresAt: string | null; leaked?: true };
};

export type AuditType = keyof AuditPayloads;

/** The fields that an entry of any type may have in addition. */
interface Remarks {
  /** The operator's reason. */
  reason?: string;
  /** The time of the decision, if the database's clock had moved back behind the log's last entry. */
  decidedAt?: string;
}

/** An entry's type and payload. */
export type AuditContent<T extends AuditType = AuditType> = {
  [Each in T]: { type: Each; payload: AuditPayloads[Each] & Remarks };
}[T];

/**
 * A log row's type and payload. The payload's fields are those of this version and are not checked: readers rely on the
 * chain's seal, and verification finds tampered rows.
 * @returns undefined for a payload that is empty or not a JSON object, which only a tampered row has
 */
export function contentOf({ type, payloadText }: Pick<AuditEntry, "type" | "payloadText">): AuditContent | undefined {
  return parsedContent({ type, payload: payloadOf({ payloadText }) });
}

/** The same for a parsed payload. */
export function parsedContent({ type, payload }: { type: string; payload: object }): AuditContent | undefined {
  return Object.keys(payload).length === 0 ? undefined : ({ type, payload } as AuditContent);
}

/**
 * Whether a parsed entry has one of the types. Its payload is typed as in {@link contentOf}, without a check of its
 * fields.
 */
export function isOfType<T extends AuditType, Entry extends { type: string; payload: object }>(
  entry: Entry,
  ...types: T[]
): entry is Entry & AuditContent<T> {
  return types.some((type) => type === entry.type);
}
