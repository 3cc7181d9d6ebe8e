import type { Json } from "../../domain/audit/audit-link.ts";
import type { ProposalStep } from "../../domain/audit/market-shapes.ts";
import { Fault } from "../../domain/fault.ts";
import { statusAt } from "../../domain/market/market.ts";
import { type Outcome, outcomeOnRecord } from "../../domain/market/outcome.ts";
import { type Rules, rulesOf, type Terms } from "../../domain/policy/approvals.ts";
import type { ProposalKind } from "../../domain/policy/proposal.ts";
import { HOUR_MS } from "../../domain/time/units.ts";
import { type CommandKind, need, requireMarket, requireTenant, TENANT } from "../command.ts";
import { Draft, type Reader } from "../draft.ts";
import type { Need } from "../rows.ts";
import type { Proposal } from "./rows.ts";

/** Who asks for a command, where the tenant's rules may want others to agree first. */
export interface Asked {
  /** The identifier of the proposal that the command may become. */
  proposalId: string;
  by: string;
  /** The request, from which the command is made again: canonical JSON without secrets. */
  request: string;
  /** What the decision rests on, canonical JSON; null for none. */
  evidence: string | null;
  /** Why, as the entry of the proposal says, where the command itself states no reason. */
  reason?: string | undefined;
}

/** The result of a command, or the proposal that it became. */
export type OrProposal<R> =
  | (R & { proposal?: undefined })
  | ({ [Field in keyof R]?: undefined } & { proposal: Proposal });

/** What a proposal is about. Of one subject, at most one proposal waits. */
interface About {
  subject: string;
  marketId?: string;
  outcome?: Outcome;
  reason?: string | undefined;
}

interface Rule<C> {
  kind: ProposalKind;
  /** What the proposal would be about; undefined for a command that never waits. */
  about: (command: C) => About | undefined;
  /** What the rules want before the command; undefined for nothing. */
  terms: (rules: Rules, command: C, state: Reader, now: number) => Terms | undefined;
}

export const marketSubject = (marketId: string) => `market:${marketId}`;
export const withdrawalSubject = (withdrawalId: string) => `withdrawal:${withdrawalId}`;

/** The rows that say whether a proposal about a subject waits. */
export const waitingNeed = (subject: string): Need => need("waitingProposal", subject);

/** The proposal about a subject that waits; undefined for none. */
export function waitingProposal(state: Reader, subject: string): Proposal | undefined {
  const proposal = state.get("waitingProposal", subject);
  return proposal?.status === "pending" ? proposal : undefined;
}

/** @throws Fault PROPOSAL_PENDING */
export function requireNoneWaiting(state: Reader, subject: string): void {
  const waiting = waitingProposal(state, subject);
  if (waiting)
    throw new Fault("PROPOSAL_PENDING", `A proposal about it waits: ${waiting.id}. Execute or reject it first`, {
      detail: { value: waiting.id },
    });
}

/**
 * A command that becomes a proposal where the tenant's rules want more than its caller: other people, or time to object.
 * It is refused as it would be at once. A command without `asked` was agreed on, or is repeated from the log.
 */
export function governed<C extends object, R extends object>(
  kind: CommandKind<C, R>,
  rule: Rule<C>,
): CommandKind<C & { asked?: Asked | undefined }, OrProposal<R>> {
  return {
    ...kind,
    needs: (command) => {
      const about = command.asked && rule.about(command);
      return about ? [...kind.needs(command), TENANT, waitingNeed(about.subject)] : kind.needs(command);
    },
    decide(draft, command, now) {
      const { asked } = command;
      const about = asked && rule.about(command);
      if (!about) return kind.decide(draft, command, now);
      const terms = rule.terms(rulesOf(requireTenant(draft)), command, draft, now);
      const isWanted = terms !== undefined && (terms.holdHours > 0 || terms.approvals > 1);
      if (!isWanted && !waitingProposal(draft, about.subject)) return kind.decide(draft, command, now);
      // Refused as it would be at once; nothing of it is kept.
      kind.decide(new Draft(draft, draft.ts), command, now);
      requireNoneWaiting(draft, about.subject);
      const proposal = propose(
        draft,
        { ...asked, ...about, reason: about.reason ?? asked.reason, kind: rule.kind, terms: terms as Terms },
        now,
      );
      return { proposal } as OrProposal<R>;
    },
  };
}

function propose(draft: Draft, of: Asked & About & { kind: ProposalKind; terms: Terms }, now: number): Proposal {
  const { proposalId: id, kind, subject, marketId = null, outcome = null, reason = null, request, evidence } = of;
  const proposal: Proposal = {
    ...{ id, kind, status: "pending", subject, marketId, outcome, reason, evidence, request },
    ...{ proposedBy: of.by, proposedAt: now, finalAt: now + Math.round(of.terms.holdHours * HOUR_MS) },
    ...{ approvalsNeeded: of.terms.approvals, approvals: [{ by: of.by, at: now }], objections: 0 },
    ...{ decidedBy: null, decidedAt: null, result: null, version: 0 },
  };
  putProposal(draft, proposal);
  draft.record("proposal.created", {
    ...namedProposal(proposal),
    subject,
    reason: reason ?? undefined,
    evidence: evidence === null ? undefined : (JSON.parse(evidence) as Json),
    request: JSON.parse(request) as Json,
    approvalsNeeded: proposal.approvalsNeeded,
  });
  if (marketId !== null && kind !== "correct") suspendWhile(draft, marketId, now);
  return proposal;
}

/** A market whose end is proposed takes no trades. */
function suspendWhile(draft: Draft, marketId: string, now: number): void {
  const { market, marketState } = requireMarket(draft, marketId);
  if (statusAt({ status: marketState.status, closeAt: market.closeAt }, now) !== "open") return;
  draft.put("marketState", marketId, { ...marketState, status: "suspended" });
  draft.record("market.suspended", { marketId });
}

export function putProposal(draft: Draft, proposal: Proposal): void {
  draft.put("proposal", proposal.id, proposal);
  draft.put("waitingProposal", proposal.subject, proposal);
}

/** What each entry of a proposal says of it. */
export function namedProposal({ id, kind, marketId, outcome, finalAt }: Proposal): ProposalStep {
  return {
    ...{ proposalId: id, kind, marketId: marketId ?? undefined },
    outcome: outcome === null ? undefined : outcomeOnRecord(outcome),
    finalAt: new Date(finalAt).toISOString(),
  };
}
