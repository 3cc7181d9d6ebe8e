import type { FrameMarket, FrameProposal } from "../../contract/resources/embed.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { endSentences, lastValue, needsSentences } from "../../locales/end-sentences.ts";
import { proposalSentences } from "../../locales/proposal-sentences.ts";
import { sourceSentence } from "../../locales/source-sentence.ts";
import type { Speaker } from "../../locales/speaker.ts";
import type { ReadMarket, View } from "./embed-data.ts";

/** The server makes the sentences, so that frames need neither their words nor a parser of references. */
export function marketInWords(
  view: View,
  { finalValue, proposal, ...market }: ReadMarket,
  speaker: Speaker,
): FrameMarket {
  const { detail } = market;
  if (view !== "market") return needsSentences(detail) ? { ...market, ended: endSentences(speaker, detail) } : market;
  const source = sourceSentence(speaker, detail);
  const said = { ...market, source, proposal: proposal && proposalInWords(detail.id, proposal, speaker) };
  if (detail.outcome === null) return said;
  return { ...said, ended: [...endSentences(speaker, detail), lastValue(speaker, detail, finalValue)] };
}

function proposalInWords(
  marketId: string,
  proposal: NonNullable<ReadMarket["proposal"]>,
  speaker: Speaker,
): FrameProposal {
  const { say } = speaker;
  return {
    id: proposal.proposalId,
    marketId,
    said: proposalSentences(speaker, proposal, wallClockMs()),
    words: {
      ...{ why: say("proposal.why"), object: say("proposal.object"), sent: say("proposal.sent") },
      POSITION_REQUIRED: say("proposal.position"),
      ALREADY_OBJECTED: say("proposal.again"),
      PROPOSAL_DECIDED: say("proposal.decided"),
      ...{ USER_REQUIRED: say("refusal.user"), RATE_LIMITED: say("refusal.rate") },
      ...{ UNREACHABLE: say("refusal.unreachable"), OVERLOADED: say("refusal.overloaded") },
      ...{ DATABASE_UNAVAILABLE: say("refusal.unavailable"), INTERNAL: say("refusal.internal") },
    },
  };
}
