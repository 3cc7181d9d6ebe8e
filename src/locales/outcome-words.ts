import type { OutcomeShape } from "../domain/market/outcome.ts";
import type { Side } from "../domain/market/pool.ts";
import type { Speaker } from "./speaker.ts";

/** The side that won everything; undefined for another outcome, and for none. */
export function wonBy(outcome: OutcomeShape<number> | null | undefined): Side | undefined {
  return outcome === "yes" || outcome === "no" ? outcome : undefined;
}

/** An outcome in words, such as "Yes", "Void" or "Yes pays 40%, No 60%". */
export function outcomeSaid({ say, payout }: Speaker, outcome: OutcomeShape<number>): string {
  if (typeof outcome === "string") return say(`common.${outcome}`);
  const { yes } = outcome;
  const sides = { side: say("common.yes"), other: say("common.no") };
  return say("common.split", { ...sides, part: payout(yes), rest: payout(1 - yes) });
}
