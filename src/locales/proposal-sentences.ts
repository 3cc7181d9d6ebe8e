import type { OutcomeShape } from "../domain/market/outcome.ts";
import { outcomeSaid } from "./outcome-words.ts";
import { piecesOf, type Sentence } from "./sentence-pieces.ts";
import type { Speaker } from "./speaker.ts";

/** A proposal to end or correct a market, as everyone may see it. */
export interface OpenProposal {
  kind: string;
  outcome: OutcomeShape<number> | null;
  reason: string | null;
  finalAt: string;
  objections: number;
  /** How many actors agree, and how many must. */
  approvals: number;
  approvalsNeeded: number;
}

/** What is proposed and until when it can be objected to, what it waits for, why, and how many users object. */
export function proposalSentences(speaker: Speaker, proposal: OpenProposal, now: number): Sentence[] {
  const { kind, outcome, reason, finalAt, objections } = proposal;
  if (outcome === null) return [];
  const key = kind === "correct" ? "proposal.correction" : "proposal.end";
  return [
    piecesOf(speaker, key, { outcome: outcomeSaid(speaker, outcome), time: { at: finalAt } }),
    ...waitingSaid(speaker, proposal, now),
    ...(reason === null ? [] : [piecesOf(speaker, "proposal.reason", { reason: { quote: reason } })]),
    ...(objections === 0 ? [] : [[speaker.say("proposal.objections", { count: objections })]]),
  ];
}

/** Nothing for a proposal that waits for its time alone, which the first sentence names. */
function waitingSaid({ say }: Speaker, { finalAt, approvals, approvalsNeeded }: OpenProposal, now: number): Sentence[] {
  if (approvals < approvalsNeeded) return [[say("proposal.approval")]];
  return now < Date.parse(finalAt) ? [] : [[say("proposal.due")]];
}
