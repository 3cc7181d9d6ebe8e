import type { OutcomeShape } from "../domain/market/outcome.ts";
import type { Side } from "../domain/market/pool.ts";
import type { Speaker } from "./speaker.ts";

type Outcome = OutcomeShape<number>;

/** The side that won everything; undefined for another outcome, and for none. */
export function wonBy(outcome: Outcome | null | undefined): Side | undefined {
  return outcome === "yes" || outcome === "no" ? outcome : undefined;
}

/** An outcome in words, such as "Yes", "Void" or "Yes 40%". */
export function outcomeSaid(speaker: Speaker, outcome: Outcome): string {
  if (typeof outcome === "string") return speaker.say(`common.${outcome}`);
  return `${speaker.say("common.yes")} ${speaker.chance(outcome.yes)}`;
}
