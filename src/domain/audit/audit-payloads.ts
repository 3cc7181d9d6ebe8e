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
  /** A market takes trades from now on. By the apply of its file, or by an operator. */
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
  /** The files took over a market that was made otherwise, under this key, whether or not it had one. By an apply. */
  "market.imported": { marketId: string; key: string };
  /** The market has another key in the tenant's files. By an apply. */
  "market.moved": { marketId: string; from: string; key: string };
  /** The market takes no trades until it is resumed. By an operator. */
  "market.suspended": { marketId: string };
  /** The market takes trades again. By an operator. */
  "market.resumed": { marketId: string };
  /** The market's closing time has passed. By the oracle's sweep. */
  "market.closed": { marketId: string; closeAt: string };
  /** The winners were paid, and what was left went back to the treasury. By the oracle or an operator. */
  "market.settled": {
    marketId: string;
    outcome: Side;
    /** How many winners were paid. */
    payouts: number;
    paid: string;
    returned: string;
    houseResult: string;
  };
  /** The oracle leaves the settlement to a person. By the oracle. */
  "oracle.held": { marketId: string; reason: HoldReason; detail: string };
  /** What the oracle found, just before it settles. By the oracle. */
  "oracle.resolved": ResolutionEvidence & { marketId: string; outcome: Side };
  /** Shares were bought or sold. By the user, or by an operator on the user's behalf. */
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
  /** An identity check changed what a user may do. By the provider, or by an operator in its place. */
  "kyc.updated": {
    userId: string;
    status: KycStatus;
    provider: string;
    verifiedAt: string;
    jurisdiction: string | undefined;
    /** Of a failure that counts although it is dated before the passed check on record: its own time. */
    datedAt?: string;
  };
  /** A check with a status that is neither passed nor a refusal; or one passed shortly before a failure, which stands. By the provider. */
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
  /** A user may not trade any more, or may again. By an operator. */
  "user.restricted": { userId: string; restricted: boolean; state: TraderState };
  /** A user signed out: `sha256` is of what the token's signature covers, and it has expired `until` then. By the user. */
  "session.ended": { userId: string; sha256: string; until: string };
  /** All sessions of a user that began before an instant ended. By an operator, or by the user. */
  "session.revoked": { userId: string; revokeBefore: string };
  /** Money went into a wallet. By a payment provider, or by an operator. */
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
  /** Money was taken out of a wallet, such as after a dispute. By a payment provider, or by an operator. */
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
  /** A payment that moved nothing, because it contradicts what is on record. By a payment provider. */
  "payment.conflict": {
    provider?: string;
    txRef: string;
    problem?: string;
    userId?: string | undefined;
    amount?: string;
    creditedUserId?: string;
    creditedAmount?: string;
  };
  /** The amount is set aside until an operator decides. By the user, or by an operator on the user's behalf. */
  "withdrawal.requested": WithdrawalStep;
  /** The amount left the ledger: it is to be paid out. By an operator. */
  "withdrawal.approved": WithdrawalStep;
  /** The amount went back into the wallet. By an operator. */
  "withdrawal.rejected": WithdrawalStep;
  /** Limits were changed live, or an override ended. By an operator, or by the oracle's sweep. */
  "policy.updated": {
    changes: PolicyChanges;
    /** When an override ends by itself. */
    until?: string;
    overridesEnded?: string[];
    state: StatedTenant;
  };
  /** The tenant is what its files say. By the operator who applied or rolled back. */
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
  /** No apply and no rollback until then; a later entry of either type replaces it. By an operator. */
  "config.frozen": { until: string };
  /** The freeze was lifted; it would have ended `until` then. By an operator. */
  "config.unfrozen": { until: string };
  /** A value of an API key works from now on. By an operator, or by an apply. */
  "key.created": CreatedKey & {
    keys: StatedKeys;
    replaces?: true;
    /** When the replaced values end. */
    oldUntil?: string | null;
  };
  /** A value of an API key works no longer. By an operator, or by an apply. */
  "key.revoked": { name: string; type: KeyType; keys: StatedKeys; replaced?: true };
  /** The ledger was compared with its log. By an operator, or by the server's regular check. */
  "reconcile.run": { ok: boolean; discrepancy: string };
  /** A log that was set back goes on without its lost entries. By an operator at the database. */
  "rollback.accepted": { anchorSeq: number; anchorHash: string; headSeq: number; headHash: string; lost: number };
  /** An entry stays as it is; `seq` is where the recomputation of the log found these. By an operator at the database. */
  "finding.accepted": { seq: number; findings: string[] };
  /** The database is a restored backup, which ends at `seq`. By an operator at the database. */
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
