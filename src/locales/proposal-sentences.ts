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
}

/** What is proposed and until when it can be objected to, why, and how many users object. */
export function proposalSentences(speaker: Speaker, proposal: OpenProposal): Sentence[] {
  const { kind, outcome, reason, finalAt, objections } = proposal;
  if (outcome === null) return [];
  const key = kind === "correct" ? "proposal.correction" : "proposal.end";
  return [
    piecesOf(speaker, key, { outcome: outcomeSaid(speaker, outcome), time: { at: finalAt } }),
    ...(reason === null ? [] : [piecesOf(speaker, "proposal.reason", { reason: { quote: reason } })]),
    ...(objections === 0 ? [] : [[speaker.say("proposal.objections", { count: objections })]]),
  ];
}
