import { type OutcomeShape, outcomeName } from "../market/outcome.ts";
import { decimalFromMicro, microFromDecimal } from "../money.ts";
import { kycVerdict } from "../policy/kyc-verdict.ts";
import type { ProposalKind } from "../policy/proposal.ts";
import { counted, isDirected, isolated } from "../text.ts";
import { SYSTEM_ACTOR } from "./actors.ts";
import type { AuditEntry, Json } from "./audit-link.ts";
import { type AuditContent, type AuditPayloads, type AuditType, contentOf } from "./audit-payloads.ts";

/** How a sentence names its actor and its subject. */
interface Names {
  /** The entry's actor; a user is named without the prefix. */
  actor: string;
  /** The market's question in quotes, or its id if the question is unknown. */
  market: string;
  /** ` through admin:ops` if an operator acted for the user. */
  through: string;
}

/** An entry as a sentence for people: who did what, to what, for how much. A new type does not compile without a sentence. */
const SENTENCES: { readonly [T in AuditType]: (payload: AuditPayloads[T], names: Names) => string } = {
  "market.created": ({ kind, p0, closeAt, liquidity }, { actor, market }) =>
    `${actor} created ${market}: ${kind}, Yes at ${p0}, ${money(liquidity)} of liquidity, closes ${minute(closeAt)}`,
  "market.imported": ({ key }, { actor, market }) => `${actor} took ${market} into the tenant's files as ${key}`,
  "market.moved": ({ from, key }, { actor, market }) => `${actor} renamed the key of ${market} from ${from} to ${key}`,
  "market.suspended": (_, { actor, market }) => `${actor} suspended ${market}`,
  "market.resumed": (_, { actor, market }) => `${actor} resumed ${market}`,
  "market.closed": ({ closeAt }, { market }) => `${market} closed at ${minute(closeAt)}`,
  "market.clarified": ({ text }, { actor, market }) =>
    `${actor} clarified ${market}: "${text.trim().replace(/\s+/g, " ")}"`,
  "market.settled": ({ outcome, payouts, paid, houseResult }, { actor, market }) =>
    `${actor} settled ${market} as ${outcomeName(outcome)}: ${counted(payouts, "position")} paid ${money(paid)}, house result ${money(houseResult)}`,
  "market.voided": ({ payoutsProcessed, refunded, fromTreasury }, { actor, market }) => {
    const added = owes(fromTreasury) ? `, the treasury adding ${money(fromTreasury)}` : "";
    return `${actor} voided ${market}: ${counted(payoutsProcessed, "position")} got back ${money(refunded)}${added}`;
  },
  "market.corrected": ({ from, outcome, takenBack, receivables, paid }, { actor, market }) => {
    const owed = owes(receivables) ? `, ${money(receivables)} of it owed` : "";
    const change = `from ${outcomeName(from)} to ${outcomeName(outcome)}`;
    return `${actor} corrected ${market} ${change}: ${money(takenBack)} taken back${owed}, ${money(paid)} paid`;
  },
  "proposal.created": ({ kind, outcome, approvalsNeeded, finalAt, request }, { actor, market }) => {
    const needs = approvalsNeeded > 1 ? `needs ${counted(approvalsNeeded, "approval")}, ` : "";
    return `${actor} proposed ${workSaid(kind, { outcome, request, market })}: ${needs}final at ${minute(finalAt)}`;
  },
  "proposal.approved": ({ kind, proposalId, approvals, approvalsNeeded }, { actor }) =>
    `${actor} approved the proposal ${proposalId} (${kind}): ${approvals} of ${approvalsNeeded}`,
  "proposal.objected": ({ kind, proposalId, userId, objections }, { through }) =>
    `${userId} objected to the proposal ${proposalId} (${kind})${through}, as ${counted(objections, "user")} did`,
  "proposal.rejected": ({ kind, proposalId }, { actor }) => `${actor} rejected the proposal ${proposalId} (${kind})`,
  "proposal.executed": ({ kind, proposalId }, { actor }) =>
    actor === SYSTEM_ACTOR
      ? `the server executed the proposal ${proposalId} (${kind}), whose hold had ended`
      : `${actor} executed the proposal ${proposalId} (${kind})`,
  "plan.approved": ({ sha256 }, { actor }) => `${actor} approved the plan ${sha256.slice(0, 8)}`,
  "oracle.held": ({ detail }, { market }) => `the oracle leaves ${market} to a person: ${detail}`,
  "oracle.resolved": ({ outcome, ref, price, strike }, { market }) => {
    const figures = [price && `price ${price}`, strike && `strike ${strike}`].filter(Boolean).join(", ");
    return `the oracle found ${outcomeName(outcome)} for ${market}${ref ? ` by ${ref}` : ""}${figures && `: ${figures}`}`;
  },
  "trade.executed": ({ userId, side, action, amount, shares }, { market, through }) =>
    `${userId} ${action === "sell" ? "sold" : "bought"} ${rounded(shares)} ${named(side)} of ${market} for ${money(amount)}${through}`,
  "kyc.updated": ({ userId, status, provider, jurisdiction, datedAt }) => {
    if (status === "review")
      return `${userId} may not trade until a person decides on the identity check of ${provider}`;
    const conflict = datedAt ? `, dated ${minute(datedAt)}, before one that was passed` : "";
    return `${userId} ${status} the identity check of ${provider}${jurisdiction ? ` (${jurisdiction})` : ""}${conflict}`;
  },
  "kyc.unrecognised": ({ userId, status, provider, verifiedAt }) =>
    kycVerdict(status) === "passed"
      ? `${userId} passed the identity check of ${provider}, dated ${minute(verifiedAt)}, before one that failed and stands`
      : `the identity check of ${userId} by ${provider} is ${JSON.stringify(status)}, which is neither passed nor failed`,
  "suitability.submitted": ({ userId, score, passed }, { through }) =>
    `${userId} scored ${score} in the suitability assessment: ${passed ? "passed" : "not passed"}${through}`,
  "user.restricted": ({ userId, restricted }, { actor }) =>
    `${actor} ${restricted ? "restricted" : "released"} ${userId}`,
  "session.ended": ({ userId }, { actor }) => `${actor} ended a session of ${userId}`,
  "console.opened": ({ address }, { actor }) => `${actor} signed in to the console from ${address}`,
  "console.ended": ({ cause }, { actor }) => `a console session of ${actor} ended: ${cause}`,
  "webhook.tested": ({ receiver }, { actor }) => `${actor} sent a test event to the receiver ${receiver}`,
  "webhook.replayed": ({ eventId, receivers }, { actor }) =>
    `${actor} sent the event ${eventId} again to ${receivers.join(", ")}`,
  "webhook.enabled": ({ receiver }, { actor }) => `${actor} enabled the receiver ${receiver}`,
  "oracle.swept": ({ watched, settled, held }, { actor }) =>
    `${actor} let the oracle look at ${counted(watched, "market")}: ${settled} settled, ${held} not`,
  "session.revoked": ({ userId, revokeBefore }, { actor }) =>
    `${actor} ended the sessions of ${userId} that began before ${minute(revokeBefore)}`,
  "wallet.credited": ({ userId, amount, creditId, provider, txRef, cause, receivable }, { actor }) => {
    const owed = owes(receivable) ? `, ${money(receivable)} of it for what was owed` : "";
    return creditId === undefined
      ? `${userId} received ${money(amount)} through ${provider}${cause ? ` (${cause})` : ""}, reference ${txRef}${owed}`
      : `${actor} credited ${userId} with ${money(amount)}${owed}`;
  },
  "wallet.debited": ({ userId, amount, debitId, receivable, provider, cause, txRef }, { actor }) => {
    if (debitId !== undefined) return `${actor} debited ${userId} by ${money(amount)}`;
    const owed = owes(receivable) ? `, ${money(receivable)} of it is owed` : "";
    return `${userId} was debited ${money(amount)} through ${provider} (${cause}), reference ${txRef}${owed}`;
  },
  "payment.conflict": ({ txRef, problem, userId, amount }) => {
    const of = [amount && money(amount), userId && `for ${userId}`].filter(Boolean).join(" ");
    return `the payment ${txRef}${of && ` of ${of}`} moved nothing: ${problem ?? "its reference was counted before"}`;
  },
  "withdrawal.requested": ({ userId, amount }, { through }) => `${userId} asked to withdraw ${money(amount)}${through}`,
  "withdrawal.approved": ({ userId, amount }, { actor }) =>
    `${actor} approved the withdrawal of ${money(amount)} by ${userId}`,
  "withdrawal.rejected": ({ userId, amount }, { actor }) =>
    `${actor} rejected the withdrawal of ${money(amount)} by ${userId}`,
  "policy.updated": ({ changes, until, overridesEnded }, { actor }) => {
    const changed = `${changedFields(changes)}${until ? ` until ${minute(until)}` : ""}`;
    return overridesEnded === undefined
      ? `${actor} changed ${changed}`
      : `the override of ${overridesEnded.join(", ")} ended${changed && `: ${changed}`}`;
  },
  "config.applied": ({ gitCommit, rollbackTo, policy, rules, frozenUntil }, { actor }) => {
    const fields = Object.keys(policy ?? {});
    const broke = frozenUntil === undefined ? "" : `, breaking the freeze until ${minute(frozenUntil)}`;
    const changed = [...(fields.length === 0 ? [] : [`policy ${fields.join(", ")}`]), ...Object.keys(rules ?? {})];
    const set = `${broke}${changed.length === 0 ? "" : `: ${changed.join("; ")}`}`;
    return rollbackTo === undefined
      ? `${actor} applied the tenant file${gitCommit ? ` of commit ${gitCommit}` : ""}${set}`
      : `${actor} rolled the configuration back to entry ${rollbackTo}${set}`;
  },
  "config.frozen": ({ until }, { actor }) => `${actor} froze the configuration until ${minute(until)}`,
  "config.unfrozen": ({ until }, { actor }) => `${actor} lifted the freeze that would have ended at ${minute(until)}`,
  "key.created": ({ name, type, replaces }, { actor }) =>
    `${actor} ${replaces ? "rotated" : "created"} the ${type} key ${name}`,
  "key.revoked": ({ name, type }, { actor }) => `${actor} revoked the ${type} key ${name}`,
  "reconcile.run": ({ ok, discrepancy }, { actor }) =>
    `${actor} reconciled the ledger: ${ok ? "it adds up" : `it is off by ${money(discrepancy)}`}`,
  "rollback.accepted": ({ lost, anchorSeq }, { actor }) =>
    `${actor} accepted that ${counted(lost, "entry", "entries")} up to ${anchorSeq} ${lost === 1 ? "is" : "are"} gone`,
  "finding.accepted": ({ seq, findings }, { actor }) =>
    `${actor} accepted entry ${seq} as it is, which the engine would have decided otherwise: ${findings.join("; ")}`,
  "database.restored": ({ seq, created }, { actor }) =>
    `${actor} restored the backup of ${minute(created)}, which ends at entry ${seq}`,
};

/** What a proposal would do, such as `to void 'Rain?'`. */
function workSaid(
  kind: ProposalKind,
  { outcome, request, market }: { outcome: OutcomeShape<string> | undefined; request: Json; market: string },
): string {
  if (outcome !== undefined && kind !== "void") return `to ${kind} ${market} as ${outcomeName(outcome)}`;
  if (kind === "void") return `to void ${market}`;
  const { id, name, amount } = request as { [field: string]: Json };
  switch (kind) {
    case "credit":
      return `to credit ${id} with ${money(String(amount))}`;
    case "withdraw":
      return `to approve the withdrawal ${id}`;
    case "key":
      return `a new value of the key ${name}`;
    default:
      return "to loosen the policy";
  }
}

/** A shorter beginning tells no question from another. */
const LEAST_OF_QUESTION = 20;

/** Every type of audit entry. */
export const AUDIT_TYPES = Object.keys(SENTENCES) as AuditType[];

export type Told = Pick<AuditEntry, "type" | "actor" | "payloadText">;

/**
 * An entry in one sentence.
 * @param question the question of the entry's market; the market's id replaces an unknown one
 * @returns only actor and type for an entry of another version, or a tampered entry
 */
export function sentenceOf({ type, actor, payloadText }: Told, question?: string): string {
  const content = Object.hasOwn(SENTENCES, type) ? contentOf({ type, payloadText }) : undefined;
  if (content === undefined) return `${isolated(actor)}: ${type}`;
  const { marketId, userId, reason, evidence }: { [about in About]?: string | undefined } = content.payload as object;
  const names: Names = {
    actor: isolated(actorIn(content, actor)),
    market: question === undefined ? `market ${marketId}` : `'${isolated(question)}'`,
    through: actor === `user:${userId}` ? "" : ` through ${isolated(actor)}`,
  };
  const payload = isDirected(payloadText) ? isolatedIn(content.payload) : content.payload;
  const sentence = tell({ ...content, payload } as AuditContent, names) ?? `${isolated(actor)}: ${type}`;
  const said = typeof reason === "string" ? `${sentence}: "${isolated(reason)}"` : sentence;
  return typeof evidence === "string" ? `${said}, evidence "${isolated(evidence.trim().replace(/\s+/g, " "))}"` : said;
}
type About = "marketId" | "userId" | "reason" | "evidence";

/** The same value, whose texts move no words around them. */
function isolatedIn<Value>(value: Value): Value {
  if (typeof value === "string") return isolated(value) as Value;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(isolatedIn) as Value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, isolatedIn(part)])) as Value;
}

/** What the server does for people, once the hold of their proposal has ended, is told as theirs. The oracle's own settlements state no reason. */
function actorIn({ type, payload }: AuditContent, actor: string): string {
  if (actor.startsWith("user:")) return actor.slice("user:".length);
  const isOfPeople =
    ["market.voided", "market.corrected", "withdrawal.approved"].includes(type) ||
    (type === "wallet.credited" && payload.creditId !== undefined) ||
    (type === "policy.updated" && payload.overridesEnded === undefined) ||
    (type === "market.settled" && payload.reason !== undefined);
  return actor === SYSTEM_ACTOR && isOfPeople ? "a proposal whose hold had ended" : actor;
}

/** The sentence, with a shortened question if it then fits into `room` characters; else the whole sentence. */
export function fittedSentence(entry: Told, question: string | undefined, room: number): string {
  const whole = sentenceOf(entry, question);
  const excess = whole.length - room;
  if (question === undefined || excess <= 0) return whole;
  const kept = question.length - excess - 1;
  return kept < LEAST_OF_QUESTION ? whole : sentenceOf(entry, `${question.slice(0, kept).trimEnd()}…`);
}

function tell<T extends AuditType>(
  { type, payload }: { type: T; payload: AuditPayloads[T] },
  names: Names,
): string | undefined {
  try {
    return SENTENCES[type](payload, names);
  } catch {
    // Only a tampered entry lacks fields of its type, and displaying it must not fail.
    return undefined;
  }
}

/** `33.3` as `$33.30`; further digits are kept. */
function money(amount: string | undefined): string {
  const [, sign, whole, fraction = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(amount ?? "") ?? [];
  if (whole === undefined) return `${amount} USD`;
  return `${sign}$${whole}.${fraction.replace(/0+$/, "").padEnd(2, "0")}`;
}

/** Shares with two decimals, rounded as views round them; all digits of less than a hundredth of a share. */
function rounded(amount: string): string {
  const micro = microFromDecimal(amount.replace("-", ""));
  return decimalFromMicro(micro < 10_000n ? micro : ((micro + 5_000n) / 10_000n) * 10_000n);
}

function named(side: string): string {
  return side === "yes" ? "Yes" : "No";
}

/** `2030-01-31 18:00Z`. */
function minute(ts: string): string {
  return `${ts.slice(0, 16).replace("T", " ")}Z`;
}

function owes(receivable: string | undefined): boolean {
  return receivable !== undefined && Number(receivable) > 0;
}

function changedFields(changes: { [field: string]: { from: Json; to: Json } }): string {
  return Object.entries(changes)
    .map(([field, { from, to }]) => `${field} from ${JSON.stringify(from)} to ${JSON.stringify(to)}`)
    .join(", ");
}
