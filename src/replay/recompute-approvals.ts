import { SYSTEM_ACTOR } from "../domain/audit/actors.ts";
import { canonicalJson } from "../domain/audit/audit-link.ts";
import type { AuditPayloads } from "../domain/audit/audit-payloads.ts";
import { type Outcome, outcomeOnRecord } from "../domain/market/outcome.ts";
import { decimalFromMicro, microFromDecimal, microFromUsd } from "../domain/money.ts";
import { type Rules, rulesOf, type Terms, termsOfEnd } from "../domain/policy/approvals.ts";
import type { ProposalKind } from "../domain/policy/proposal.ts";
import { HOUR_MS } from "../domain/time/units.ts";
import { objectionKey } from "../engine/approvals/decisions.ts";
import { marketSubject, waitingProposal, withdrawalSubject } from "../engine/approvals/proposals.ts";
import type { Proposal } from "../engine/approvals/rows.ts";
import { termsAbove } from "../engine/funding.ts";
import { positionKey, SINGLE } from "../engine/rows.ts";
import type { LoggedEntry, LoggedRows } from "./logged-rows.ts";
import { differing, type Problem } from "./problem.ts";

type ProposalEntry = Extract<LoggedEntry, { type: `proposal.${string}` }>;

/** The engine's rules of proposals: who may agree and object, and when one is carried out. */
export function proposalProblems(rows: LoggedRows, entry: ProposalEntry): Problem[] {
  const { type, payload, actor } = entry;
  const { proposalId: about } = payload;
  const known = rows.get("proposal", about);
  if (type === "proposal.created") return creationProblems(rows, payload, { at: entry.at, known });
  if (!known) return [{ about, what: "proposal", recorded: type, recomputed: "it does not exist" }];
  const problems = differing(about, {
    status: ["pending", known.status],
    kind: [payload.kind, known.kind],
    market: [payload.marketId ?? "none", known.marketId ?? "none"],
  });
  switch (type) {
    case "proposal.approved":
      return [
        ...problems,
        ...differing(about, {
          "approved twice by an actor": [String(known.approvals.some(({ by }) => by === actor)), "false"],
          approvals: [String(payload.approvals), String(known.approvals.length + 1)],
          approvalsNeeded: [String(payload.approvalsNeeded), String(known.approvalsNeeded)],
        }),
      ];
    case "proposal.objected": {
      const { userId, objections } = payload;
      return [
        ...problems,
        ...differing(about, {
          "objected by a user with a position": ["true", String(holds(rows, known.marketId, userId))],
          "objected twice by a user": [
            String(rows.get("objection", objectionKey(about, userId)) !== undefined),
            "false",
          ],
          objections: [String(objections), String(known.objections + 1)],
        }),
      ];
    }
    case "proposal.executed":
      return [...problems, ...executionProblems(rows, entry, known)];
    default:
      return problems;
  }
}

/** An end, a correction or a payout for which the rules want others, or time, carries out a proposal that has both. */
function ungovernedProblems(
  rows: LoggedRows,
  { subject, does, terms }: { subject: string; does: Pick<Proposal, "kind" | "outcome">; terms: Terms | undefined },
  at: number,
): Problem[] {
  const waiting = waitingProposal(rows, subject);
  const isWanted = terms !== undefined && (terms.holdHours > 0 || terms.approvals > 1);
  if (!isWanted && !waiting) return [];
  const said = ({ kind, outcome }: Pick<Proposal, "kind" | "outcome">) => `${kind} ${textOf(outcome)}`;
  return differing(subject, {
    "agreed to": [said(does), waiting && isAgreed(waiting, at) ? said(waiting) : "nothing"],
  });
}

/** As above, for a market. */
export function ungovernedEnd(
  rows: LoggedRows,
  { marketId, ...does }: { marketId: string; kind: ProposalKind; outcome: Outcome },
  at: number,
): Problem[] {
  return ungovernedProblems(rows, { subject: marketSubject(marketId), does, terms: marketTerms(rows, marketId) }, at);
}

/** As above, for a withdrawal. */
export function ungovernedPayout(
  rows: LoggedRows,
  { withdrawalId, amount }: AuditPayloads["withdrawal.approved"],
  at: number,
): Problem[] {
  const rules = rulesOf(rows.get("tenant", SINGLE) ?? { document: "" });
  const terms = termsAbove(rules.approvals.withdraw, microFromDecimal(amount));
  const [subject, does] = [withdrawalSubject(withdrawalId), { kind: "withdraw", outcome: null } as const];
  return ungovernedProblems(rows, { subject, does, terms }, at);
}

/** A credit by an operator. */
export type OperatorCredit = AuditPayloads["wallet.credited"];

/** As above, for an operator's credit: a proposal to credit that user with that amount. */
export function ungovernedCredit(rows: LoggedRows, credit: OperatorCredit, at: number): Problem[] {
  if (!needsOthers(rows, credit)) return [];
  for (const [, proposal] of rows.of("proposal"))
    if (proposal.status === "pending" && isAgreed(proposal, at) && creditOf(proposal) === textOfCredit(credit))
      return [];
  return differing(`credit:${credit.creditId}`, { "agreed to": [textOfCredit(credit), "nothing"] });
}

/** A credit that needs others is followed by the execution of its proposal, so that what was agreed to is paid once. */
export function unexecutedCredit(rows: LoggedRows, credit: OperatorCredit, at: number): Problem[] {
  // Without an agreement, the credit itself was found.
  if (!needsOthers(rows, credit) || ungovernedCredit(rows, credit, at).length > 0) return [];
  return differing(`credit:${credit.creditId}`, { "executes its proposal": ["false", "true"] });
}

/** The execution of a proposal to credit follows the credit. */
export function executedCredit(rows: LoggedRows, proposalId: string, credit: OperatorCredit | undefined): Problem[] {
  const known = rows.get("proposal", proposalId);
  const isSame = credit !== undefined && known !== undefined && textOfCredit(credit) === creditOf(known);
  return differing(proposalId, { "carried out with it": ["true", String(isSame)] });
}

function needsOthers(rows: LoggedRows, { amount }: OperatorCredit): boolean {
  const rules = rulesOf(rows.get("tenant", SINGLE) ?? { document: "" });
  return (termsAbove(rules.approvals.credit, microFromDecimal(amount))?.approvals ?? 1) > 1;
}

const textOfCredit = ({ userId, amount }: OperatorCredit) => `credit ${amount} to ${userId}`;

/** What a proposal would credit, by its request; undefined for another kind. */
function creditOf({ kind, request }: Proposal): string | undefined {
  if (kind !== "credit") return undefined;
  const { id, amount } = JSON.parse(request) as { id: string; amount: number };
  return `credit ${decimalFromMicro(microFromUsd(amount) ?? 0n)} to ${id}`;
}

const isAgreed = ({ finalAt, approvals, approvalsNeeded }: Proposal, at: number): boolean =>
  at >= finalAt && approvals.length >= approvalsNeeded;

/** Of one subject, at most one proposal waits, on the terms in force for its market. */
function creationProblems(
  rows: LoggedRows,
  payload: AuditPayloads["proposal.created"],
  { at, known }: { at: number; known: Proposal | undefined },
): Problem[] {
  const { proposalId, subject, marketId, finalAt, approvalsNeeded } = payload;
  const waiting = waitingProposal(rows, subject);
  const terms = marketId === undefined ? undefined : marketTerms(rows, marketId);
  return differing(proposalId, {
    "repeats a proposal": [String(known !== undefined), "false"],
    "waits beside": [waiting?.id ?? "none", "none"],
    ...(terms && {
      finalAt: [finalAt, new Date(at + Math.round(terms.holdHours * HOUR_MS)).toISOString()],
      approvalsNeeded: [String(approvalsNeeded), String(terms.approvals)],
      subject: [subject, marketSubject(marketId ?? "")],
    }),
  });
}

/** An execution has its approvals, its time and its effect, and a person's decision where users object. */
function executionProblems(rows: LoggedRows, { at, actor }: ProposalEntry, known: Proposal): Problem[] {
  const { id, finalAt, approvals, approvalsNeeded, objections, kind, proposedBy } = known;
  return differing(id, {
    "executed before": [String(at < finalAt ? new Date(finalAt).toISOString() : "never"), "never"],
    "approvals missing": [String(Math.max(approvalsNeeded - approvals.length, 0)), "0"],
    "executed by the server despite objections": [String(objections > 0 && actor === SYSTEM_ACTOR), "false"],
    ...(kind === "key" ? { "executed by": [actor, proposedBy] as const } : {}),
    ...effectOf(rows, known, at),
  });
}

/** What an execution has left in the rows, which the entries before it have changed. */
function effectOf(
  rows: LoggedRows,
  { kind, marketId, outcome, subject }: Proposal,
  at: number,
): Record<string, readonly [string, string]> {
  if (marketId !== null) {
    const state = rows.get("marketState", marketId);
    const last = rows.get("marketEnd", marketId)?.corrections.at(-1);
    const decidedAt = kind === "correct" ? last?.at : state?.settledAt;
    return {
      outcome: [textOf(outcome), textOf(state?.outcome ?? null)],
      "carried out with it": ["true", String(decidedAt === at)],
    };
  }
  if (kind !== "withdraw") return {};
  const withdrawal = rows.get("withdrawal", subject.slice(withdrawalSubject("").length));
  return { "carried out with it": ["true", String(withdrawal?.status === "approved" && withdrawal.decidedAt === at)] };
}

function marketTerms(rows: LoggedRows, marketId: string): Terms | undefined {
  const [market, tenant] = [rows.get("market", marketId), rows.get("tenant", SINGLE)];
  const rules: Rules | undefined = tenant && rulesOf(tenant);
  return market && rules && termsOfEnd(rules, { category: market.category, own: market.resolution });
}

function holds(rows: LoggedRows, marketId: string | null, userId: string): boolean {
  const shares = (side: "yes" | "no") => rows.get("position", positionKey(userId, marketId ?? "", side))?.sharesMicro;
  return (shares("yes") ?? 0n) > 0n || (shares("no") ?? 0n) > 0n;
}

const textOf = (outcome: Outcome | null): string =>
  outcome === null ? "none" : canonicalJson(outcomeOnRecord(outcome));
