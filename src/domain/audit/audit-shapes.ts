import type { KeyType } from "../access/scopes.ts";
import type { PolicyField } from "../policy/fields.ts";
import type { Policy } from "../policy/policy.ts";
import type { TraderState } from "../trader.ts";
import type { Json } from "./audit-link.ts";

/** What an oracle's outcome rests on. Numbers in it are decimal texts. */
export type ResolutionEvidence = {
  /** The feed. */
  ref?: string | undefined;
  /** The price that decided. */
  price?: string | undefined;
  /** The price that it was compared with. */
  strike?: string | undefined;
  /** Of a feed its `terms` and `sources`; of the tenant's oracle `resolutionRef`, `observedAt` and its host as `oracle`. */
  [more: string]: Json | undefined;
};

/** A user's answers to the suitability assessment. */
export type Assessment = {
  userId: string;
  /** The assessment's identifier. */
  assessmentId: string;
  /** Points of each answer, 0 to 4, by its question. */
  answers: Record<string, number>;
  /** The sum of the points. */
  score: number;
  /** Whether the score allowed trading under the thresholds of that time. */
  passed: boolean;
  /** When the user answered. */
  submittedAt: string;
};

/** Money that went into a wallet. */
export type WalletCredit = {
  /** Of an operator's credit, which has no reference of a payment. */
  creditId?: string;
  userId: string;
  /** How much came in. */
  amount: string;
  /** The part of the amount that paid what the user owed. */
  receivable?: string | undefined;
  /** The provider's reference of the payment. */
  txRef?: string;
  /** The payment provider; `operator` for money by hand. */
  provider: string;
  /** Why, such as `refund` or `dispute won`; absent for a plain deposit. */
  cause?: string | undefined;
};

/** Money that was taken out of a wallet. */
export type WalletDebit = {
  /** Of an operator's debit, which has neither a reference of a payment nor a cause but the operator's reason. */
  debitId?: string;
  userId: string;
  /** How much was taken, with what the user came to owe. */
  amount: string;
  /** The part of the amount that the wallet did not hold: the user owes it. */
  receivable: string;
  txRef?: string;
  provider: string;
  /** Why, such as `refund`, `dispute` or `received less`. */
  cause?: string;
};

/** A payment that moved nothing. */
export type PaymentConflict = {
  /** The payment provider; absent for a `deposit.completed`. */
  provider?: string;
  txRef: string;
  /** What contradicts; absent for a reference that was counted with another amount or user. */
  problem?: string;
  userId?: string | undefined;
  /** The amount that the provider stated now. */
  amount?: string;
  /** The user who was credited under the reference before. */
  creditedUserId?: string;
  /** What that user was credited with. */
  creditedAmount?: string;
};

/** Where a log that was set back goes on. */
export type AcceptedRollback = {
  /** The newest entry that is known to be gone. */
  anchorSeq: number;
  /** Its hash. */
  anchorHash: string;
  /** Where the log ended instead. */
  headSeq: number;
  /** The hash of that entry. */
  headHash: string;
  /** How many entries are gone, at the least. */
  lost: number;
};

/** A backup that took the place of a database. */
export type Restore = {
  /** The number of the backup's last entry. */
  seq: number;
  /** The hash of that entry. */
  hash: string;
  /** When the backup was made. */
  created: string;
  /** The name of the database that was replaced; null where there was none. */
  keptAs: string | null;
  /** SHA-256 of the backup's content. */
  sha256: string;
};

/** A withdrawal, at each of its steps. */
export type WithdrawalStep = {
  /** The withdrawal's identifier. */
  withdrawalId: string;
  userId: string;
  /** How much the user withdraws. */
  amount: string;
};

/** The changed policy fields. */
export type PolicyChanges = {
  /** By the field's name, its value before and after. */
  [field: string]: { from: Json; to: Json };
};

/** The whole tenant's row, with the SHA-256 of its document instead of the document. */
export type StatedTenant = {
  /** The policy without its overrides. */
  policy: Policy;
  /** Values that replace those of the policy until they end. */
  overrides: { field: PolicyField; value: Json; until: string }[];
  /** When the policy or an override last changed. */
  policyUpdatedAt: string;
  /** Whether a user needs a passed identity check to trade. */
  kycRequired: boolean;
  /** What the treasury puts behind a market that states nothing else. */
  liquidity: string;
  /** What was moved into the treasury in all. */
  capital: string;
  /** SHA-256 of the applied document. */
  document: string;
};

/** A new or changed value of a key, named by its hash. */
export type CreatedKey = {
  /** The key's name. */
  name: string;
  /** Whether it is for operators or for pages. */
  type: KeyType;
  /** SHA-256 of the key's value. */
  sha256: string;
  /** What an admin key may do. */
  scopes: string[];
  /** Networks that the key works from; empty for everywhere. */
  from: string[];
  /** When the value ends; null where it has no end. */
  expiresAt: string | null;
};

/** Every key value that an entry changes, by its hash, as it stands from then on. */
export type StatedKeys = {
  /** By the SHA-256 of the value; `leaked` where it was ended as leaked. */
  [hash: string]: { scopes: string[]; from: string[]; createdAt: string; expiresAt: string | null; leaked?: true };
};

/** What an apply or a rollback set. */
export type AppliedConfig = {
  /** SHA-256 of the tenant file. */
  sha256: string;
  /** The git commit of the files; absent outside of git. */
  gitCommit: string | undefined;
  /** The whole policy at the first apply, changes later. */
  policy: Json;
  /** The changed rules of who must agree and how long an end waits, by field; absent where none changed. */
  rules?: { [field: string]: { from: Json; to: Json } } | undefined;
  /** What the apply moved into the treasury. */
  capitalAdded: string;
  /** The tenant file, without its secrets. */
  document: Json;
  /** The entry that a rollback took the document from, instead of the file. */
  rollbackTo: number | undefined;
  /** Fields whose live value was kept although the file says otherwise. */
  adopted: string[] | undefined;
  /** Of an apply that broke a freeze: when that one ends. */
  frozenUntil?: string | undefined;
  state: StatedTenant;
};

/** Whether a user may trade. */
export type Restriction = {
  userId: string;
  /** Whether the user may not trade. */
  restricted: boolean;
  /** The user's state from then on. */
  state: TraderState;
};

/** Why a session of the console ended. */
export type ConsoleEnd = "signed out" | "idle" | "absolute" | "key" | "replaced";

/** A user's sign-out. */
export type EndedSession = {
  userId: string;
  /** SHA-256 of what the token's signature covers. */
  sha256: string;
  /** When the token has expired. */
  until: string;
};

/** An event that is delivered once more. */
export type Replay = {
  /** The event's id. */
  eventId: string;
  /** To whom, by the names in the tenant file. */
  receivers: string[];
};

/** A sweep of the oracle that an operator asked for. */
export type Sweep = {
  /** How many markets were due, or near their deciding instant. */
  watched: number;
  /** How many of them it settled. */
  settled: number;
  /** How many due ones it did not settle. */
  held: number;
};

/** An entry that stays although the recomputation differs. */
export type AcceptedFinding = {
  /** The number of that entry. */
  seq: number;
  /** What would have been otherwise, in words. */
  findings: string[];
};
