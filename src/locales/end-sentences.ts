import type { OutcomeShape } from "../domain/market/outcome.ts";
import { decimalIn } from "./exact-numbers.ts";
import { outcomeSaid, wonBy } from "./outcome-words.ts";
import { piecesOf, type Sentence, type SentencePiece } from "./sentence-pieces.ts";
import type { Speaker } from "./speaker.ts";

type Outcome = OutcomeShape<number>;

/** A market's end, as its detail states it. */
export interface MarketEnd {
  outcome: Outcome | null;
  settledAt: string | null;
  /** Why the market was voided, or why its outcome was corrected last. */
  reason: string | null;
  corrections: readonly { from: Outcome; to: Outcome; at: string; reason: string }[];
}

/** How a market ended, and each later correction, oldest first; nothing before its end. */
export function endSentences(speaker: Speaker, { outcome, settledAt, reason, corrections }: MarketEnd): Sentence[] {
  if (outcome === null || settledAt === null) return [];
  const first = corrections[0]?.from ?? outcome;
  return [
    // The reason of a void that was corrected is that of the correction.
    firstSentence(speaker, first, { at: settledAt }, corrections.length === 0 ? reason : null),
    ...corrections.map(({ from, to, at, reason: quote }) =>
      piecesOf(speaker, "end.corrected", {
        ...{ time: { at }, reason: { quote } },
        ...{ from: outcomeSaid(speaker, from), to: outcomeSaid(speaker, to) },
      }),
    ),
  ];
}

/** The value that decided where a feed gave it, else the last chance before the end. */
export function lastValue(speaker: Speaker, { yesPrice }: { yesPrice: number }, value: string | undefined): Sentence {
  if (value !== undefined) return piecesOf(speaker, "end.value", { value: decimalIn(speaker.locale, value) });
  return piecesOf(speaker, "end.chance", { chance: speaker.chance(yesPrice) });
}

/** Whether a name of its outcome does not say enough: no side won, or the outcome was corrected. */
export function needsSentences({ outcome, corrections }: Pick<MarketEnd, "outcome" | "corrections">): boolean {
  return outcome !== null && (wonBy(outcome) === undefined || corrections.length > 0);
}

function firstSentence(speaker: Speaker, outcome: Outcome, time: SentencePiece, reason: string | null): Sentence {
  if (outcome === "void")
    return reason === null
      ? piecesOf(speaker, "end.voided", { time })
      : piecesOf(speaker, "end.voidedFor", { time, reason: { quote: reason } });
  const said = outcomeSaid(speaker, outcome);
  return wonBy(outcome)
    ? piecesOf(speaker, "end.won", { time, side: said })
    : piecesOf(speaker, "end.split", { time, outcome: said });
}
