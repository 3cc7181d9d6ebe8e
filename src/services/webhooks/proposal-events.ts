import type { WebhookData } from "../../contract/resources/webhooks.ts";
import type { AuditPayloads } from "../../domain/audit/audit-payloads.ts";
import type { ProposalStep } from "../../domain/audit/market-shapes.ts";
import { outcomeShown } from "../../domain/market/outcome.ts";
import type { ProposalState } from "../../domain/policy/proposal.ts";

type ProposalEventType = Extract<keyof WebhookData, `proposal.${string}`>;

/** The proposal's entry. */
export type ProposalEntry = {
  [Type in ProposalEventType]: { type: Type; payload: AuditPayloads[Type] };
}[ProposalEventType];

/** An event of a proposal. Its data is computed only when it is sent. */
export type ProposalEvent = {
  [Type in ProposalEventType]: { type: Type; data: () => WebhookData[Type] };
}[ProposalEventType];

/** What surrounds a proposal's entry. */
interface Around {
  sequence: number;
  /** The market's question; empty for a proposal that is not about a market. */
  question: string;
}

/** The event of a proposal's entry. */
export function proposalEventOf({ type, payload }: ProposalEntry, around: Around): ProposalEvent {
  const step = <State extends ProposalState>(status: State) => stepOf(payload, status, around);
  switch (type) {
    case "proposal.created": {
      const { reason, approvalsNeeded } = payload;
      const evidence = payload.evidence as WebhookData[typeof type]["evidence"];
      return { type, data: () => ({ ...step("pending"), reason, evidence, approvalsNeeded }) };
    }
    case "proposal.approved": {
      const { approvals, approvalsNeeded } = payload;
      return { type, data: () => ({ ...step("pending"), approvals, approvalsNeeded }) };
    }
    case "proposal.objected": {
      const { userId, reason, objections } = payload;
      return { type, data: () => ({ ...step("pending"), userId, reason, objections }) };
    }
    case "proposal.rejected":
      return { type, data: () => ({ ...step("rejected"), reason: payload.reason }) };
    case "proposal.executed":
      return { type, data: () => step("executed") };
  }
}

function stepOf(
  { proposalId, kind, marketId, outcome, finalAt }: ProposalStep,
  status: ProposalState,
  { sequence, question }: Around,
) {
  return {
    ...{ sequence, proposalId, kind, status },
    ...(marketId === undefined ? {} : { marketId, question }),
    ...(outcome === undefined ? {} : { outcome: outcomeShown(outcome) }),
    finalAt,
  };
}
