import type { KeyType } from "../access/scopes.ts";
import type { HedgeRef } from "../market/hedge.ts";
import type { HoldReason } from "../market/hold.ts";
import type { OutcomeShape } from "../market/outcome.ts";
import type { Side } from "../market/pool.ts";
import type { KycStatus } from "../trader.ts";
import { type AuditEntry, type Json, payloadOf } from "./audit-link.ts";
import type {
  AcceptedFinding,
  AcceptedRollback,
  AppliedConfig,
  Assessment,
  ConsoleEnd,
  CreatedKey,
  EndedSession,
  PaymentConflict,
  PolicyChanges,
  Replay,
  ResolutionEvidence,
  Restore,
  Restriction,
  StatedKeys,
  StatedTenant,
  Sweep,
  WalletCredit,
  WalletDebit,
  WithdrawalStep,
} from "./audit-shapes.ts";
import type { Correction, CreatedMarket, CreatedProposal, ProposalStep, Settlement, Void } from "./market-shapes.ts";

/**
 * The payload of each type of audit entry; a new type is a line here, and writers and readers are typed from it.
 * Amounts are decimal texts of dollars, instants ISO 8601. All are types, not interfaces, so that the compiler knows them to be plain JSON.
 * A field without a comment means what the last type before it with that field says; their shapes are in `audit-shapes.ts`.
 */
export type AuditPayloads = {
  /** A market takes trades from now on. By the apply of its file, or by an operator. */
  "market.created": CreatedMarket;
  /** The files took over a market that was made otherwise, under this key, whether or not it had one. By an apply. */
  "market.imported": { marketId: string; key: string };
  /** The market has another key in the tenant's files. By an apply. */
  "market.moved": {
    marketId: string;
    /** The key that it had. */
    from: string;
    key: string;
  };
  /** The market takes no trades until it is resumed. By an operator. */
  "market.suspended": { marketId: string };
  /** The market takes trades again. By an operator. */
  "market.resumed": { marketId: string };
  /** The market's closing time has passed. By the oracle's sweep. */
  "market.closed": { marketId: string; closeAt: string };
  /** A text was added to the market's rules, which stay as they are otherwise. By an operator. */
  "market.clarified": {
    marketId: string;
    /** The text's identifier. */
    id: string;
    /** What the rules mean, in the operator's words. */
    text: string;
  };
  /** The positions of the outcome were paid, and what was left went back to the treasury. By the oracle or an operator. */
  "market.settled": Settlement;
  /** The market was undone: open positions got back what they cost. By an operator. */
  "market.voided": Void;
  /** A settlement got another outcome: users gave back or got the difference. By an operator. */
  "market.corrected": Correction;
  /** A command waits for other actors, for its time, or for both. By an operator, or by the oracle. */
  "proposal.created": CreatedProposal;
  /** Another actor agreed to a proposal. By an operator. */
  "proposal.approved": ProposalStep & {
    /** How many actors agree now. */
    approvals: number;
    /** How many must agree. */
    approvalsNeeded: number;
  };
  /** A user with a position objected to a proposal. By the user. */
  "proposal.objected": ProposalStep & {
    /** The user's identifier, the `sub` of its token. */
    userId: string;
    /** Why, as the user wrote it. */
    reason: string;
    /** How many users object now. */
    objections: number;
  };
  /** A proposal ended without its work. By an operator. */
  "proposal.rejected": ProposalStep & {
    /** Why, as the operator wrote it. */
    reason: string;
  };
  /** A proposal was carried out; the entries before it say what it did. By an operator, or by the sweep. */
  "proposal.executed": ProposalStep & {
    /** What the operation answered. */
    result: Json;
  };
  /** The oracle leaves the settlement to a person. By the oracle. */
  "oracle.held": {
    marketId: string;
    /** Why, as a word of a closed list. */
    reason: HoldReason;
    /** The figures behind it, in words. */
    detail: string;
  };
  /** What the oracle found, just before it settles. By the oracle. */
  "oracle.resolved": ResolutionEvidence & { marketId: string; outcome: Exclude<OutcomeShape<string>, "void"> };
  /** Shares were bought or sold. By the user, or by an operator on the user's behalf. */
  "trade.executed": {
    /** The trade's identifier. */
    tradeId: string;
    marketId: string;
    /** The user's identifier, the `sub` of its token. */
    userId: string;
    /** The side that the shares are of. */
    side: Side;
    /** Of a sale only. */
    action?: "sell" | undefined;
    /** Of a sale only: what the sold shares had cost. */
    cost?: string | undefined;
    /** The leveraged position elsewhere that the trade hedges: symbol, direction, notional in cents, reference. */
    hedgeRef?: HedgeRef | undefined;
    /** What a purchase cost with its fee, or what a sale brought before its fee. */
    amount: string;
    /** The fee within the amount. */
    fee: string;
    /** What the user's token claimed, where the policy asks for a jurisdiction and the identity check named none. */
    jurisdiction?: string | undefined;
    /** How many shares were bought or sold. */
    shares: string;
    /** The price of Yes after the trade, 0 to 1. */
    yesPriceAfter: string;
  };
  /** An identity check changed what a user may do. By the provider, or by an operator in its place. */
  "kyc.updated": {
    userId: string;
    /** What came of the check; `review` waits for a person. */
    status: KycStatus;
    /** The identity provider. */
    provider: string;
    /** When the provider made the check. */
    verifiedAt: string;
    /** The place that the check named, such as `DE` or `US-NY`. */
    jurisdiction: string | undefined;
    /** Of a failure that counts although it is dated before the passed check on record: its own time. `verifiedAt` is the passed one's. */
    datedAt?: string;
  };
  /** A check with a status that means neither passed nor failed; or one passed shortly before a failure, which stands. By the provider. */
  "kyc.unrecognised": {
    userId: string;
    /** The status in the provider's word. */
    status: string;
    provider: string;
    verifiedAt: string;
  };
  /** A user answered the suitability assessment. By the user, or by an operator on the user's behalf. */
  "suitability.submitted": Assessment;
  /** A user may not trade any more, or may again. By an operator. */
  "user.restricted": Restriction;
  /** A user signed out. By the user. */
  "session.ended": EndedSession;
  /** An operator signed in to the console. By the operator. */
  "console.opened": {
    /** The client's IPv4 address, or the /64 of its IPv6 address. */
    address: string;
  };
  /** A session of the console ended. By the operator whose session it was. */
  "console.ended": {
    /** Why: the operator signed out or signed in again, a time limit, or the key's end. */
    cause: ConsoleEnd;
  };
  /** A receiver of webhooks gets the event `webhook.test`, and no other receiver does. By an operator. */
  "webhook.tested": {
    /** The receiver's name in the tenant file. */
    receiver: string;
  };
  /** An event is delivered once more. By an operator. */
  "webhook.replayed": Replay;
  /** A receiver gets events again, also one that answered 410. By an operator. */
  "webhook.enabled": { receiver: string };
  /** The oracle looked at every due market at once, for a stated reason or with a result. By an operator. */
  "oracle.swept": Sweep;
  /** All sessions of a user that began before an instant ended. By an operator, or by the user. */
  "session.revoked": {
    userId: string;
    /** That instant. */
    revokeBefore: string;
  };
  /** Money went into a wallet. By a payment provider, or by an operator. */
  "wallet.credited": WalletCredit;
  /** Money was taken out of a wallet, such as after a dispute. By a payment provider, or by an operator. */
  "wallet.debited": WalletDebit;
  /** A payment that moved nothing, because it contradicts what is on record. By a payment provider. */
  "payment.conflict": PaymentConflict;
  /** The amount is set aside until an operator decides. By the user, or by an operator on the user's behalf. */
  "withdrawal.requested": WithdrawalStep;
  /** The amount left the ledger: it is to be paid out. By an operator. */
  "withdrawal.approved": WithdrawalStep;
  /** The amount went back into the wallet. By an operator. */
  "withdrawal.rejected": WithdrawalStep;
  /** Limits were changed live, or an override ended. By an operator, or by the oracle's sweep. */
  "policy.updated": {
    /** Each changed field with its value before and after. */
    changes: PolicyChanges;
    /** When an override ends by itself. */
    until?: string;
    /** Fields whose override ended. */
    overridesEnded?: string[];
    /** The tenant's settings from then on. */
    state: StatedTenant;
  };
  /** The tenant is what its files say. By the operator who applied or rolled back. */
  "config.applied": AppliedConfig;
  /** Another actor approved what an apply would do. By an operator. */
  "plan.approved": {
    /** SHA-256 of what would be applied. */
    sha256: string;
  };
  /** No apply and no rollback until then; a later entry of either type replaces it. By an operator. */
  "config.frozen": {
    /** When the freeze ends by itself. */
    until: string;
  };
  /** The freeze was lifted. By an operator. */
  "config.unfrozen": {
    /** When it would have ended. */
    until: string;
  };
  /** A value of an API key works from now on. By an operator, or by an apply. */
  "key.created": CreatedKey & {
    /** Every value that the entry changes, as it stands from then on. */
    keys: StatedKeys;
    /** Whether the value replaces older ones of the key. */
    replaces?: true;
    /** When the replaced values end. */
    oldUntil?: string | null;
  };
  /** A value of an API key works no longer. By an operator, or by an apply. */
  "key.revoked": {
    name: string;
    type: KeyType;
    keys: StatedKeys;
    /** Whether a new value took its place. */
    replaced?: true;
  };
  /** The ledger was compared with its log. By an operator, or by the server's regular check. */
  "reconcile.run": {
    /** Whether the ledger agrees with its log. */
    ok: boolean;
    /** By how much the money is off. */
    discrepancy: string;
  };
  /** A log that was set back goes on without its lost entries. By an operator at the database. */
  "rollback.accepted": AcceptedRollback;
  /** An entry stays as it is, though the recomputation of the log would have decided otherwise. By an operator at the database. */
  "finding.accepted": AcceptedFinding;
  /** The database is a restored backup. By an operator at the database. */
  "database.restored": Restore;
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
