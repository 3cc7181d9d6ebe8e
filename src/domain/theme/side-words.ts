import type { Side } from "../market/pool.ts";
import type { SideWords } from "./stated-theme.ts";

/** The built-in words for the two sides in all languages: a side with the other's name would mislead buyers. */
export const BUILT_IN_SIDES: Readonly<Record<Side, readonly string[]>> = {
  yes: ["Yes", "Ja", "Sí", "Oui", "Sim", "نعم", "はい"],
  no: ["No", "Nein", "Non", "Não", "لا", "いいえ"],
};

/** A word that does not name its side, or names the wrong side. */
export interface SideWordFault {
  side: Side;
  /** The language, if each has its own word. */
  tag: string | undefined;
  reason: string;
}

/**
 * The words that do not name their side: invisible words, words of the other side in any language, and words of the
 * other side in `before`, so that sides cannot be swapped.
 * @param before the words that are replaced
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

/** A form that is equal for words that look the same to readers: without case, accents, spaces and blanks such as U+2800. */
function folded(word: string): string {
  return word
    .normalize("NFKD")
    .replace(/[\u0300-\u036f\u2800\p{Default_Ignorable_Code_Point}\p{White_Space}\p{C}]/gu, "")
    .toLowerCase();
}

/** The same without punctuation and symbols: "No!" is "No". */
function lettersOf(word: string): string {
  return folded(word).replace(/[^\p{L}\p{M}\p{N}]/gu, "");
}
