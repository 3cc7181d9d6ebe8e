import type { Side } from "../market/pool.ts";
import type { SideWords } from "./stated-theme.ts";

/** What the two sides are called in the languages that come along: users would buy a side by mistake if it had the other's name. */
export const BUILT_IN_SIDES: Readonly<Record<Side, readonly string[]>> = {
  yes: ["Yes", "Ja", "Sí", "Oui", "Sim", "نعم", "はい"],
  no: ["No", "Nein", "Non", "Não", "لا", "いいえ"],
};

/** A word that tells readers less than the side's own name, or the wrong side. */
export interface SideWordFault {
  side: Side;
  /** The language, where there is one word for each. */
  tag: string | undefined;
  reason: string;
}

/**
 * The words that do not name their side: those that show nothing, are the other side's word in any language, or one of
 * `before`'s, so that sides cannot change places.
 * @param before the words that these replace
 */
export function sideWordFaults(words: SideWords, before: SideWords = {}): SideWordFault[] {
  return (["yes", "no"] as const).flatMap((side) => {
    const other: Side = side === "yes" ? "no" : "yes";
    const builtIn = new Set(BUILT_IN_SIDES[other].map(lettersOf));
    const taken = new Set([...textsOf(words[other]), ...textsOf(before[other])].map(([, word]) => folded(word)));
    return textsOf(words[side]).flatMap(([tag, word]): SideWordFault[] => {
      const seen = folded(word);
      if (seen === "") return [{ side, tag, reason: "must have a character that can be seen" }];
      if (builtIn.has(lettersOf(word)) || taken.has(seen))
        return [{ side, tag, reason: `must not be a word of the other side, ${other}` }];
      return [];
    });
  });
}

function textsOf(words: SideWords[Side]): [tag: string | undefined, word: string][] {
  if (words === undefined) return [];
  return typeof words === "string" ? [[undefined, words]] : Object.entries(words);
}

/** Equal for words that readers take for the same: without case, accents, spaces and what draws nothing, such as U+2800. */
function folded(word: string): string {
  return word
    .normalize("NFKD")
    .replace(/[\u0300-\u036f\u2800\p{Default_Ignorable_Code_Point}\p{White_Space}\p{C}]/gu, "")
    .toLowerCase();
}

/** The same without punctuation and signs: "No!" is "No". */
function lettersOf(word: string): string {
  return folded(word).replace(/[^\p{L}\p{M}\p{N}]/gu, "");
}
