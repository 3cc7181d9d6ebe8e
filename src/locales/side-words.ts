import { type SideWords, sideWord } from "../domain/theme/stated-theme.ts";
import type { Messages } from "./messages.ts";

/**
 * Messages in which the sides have the theme's names: every other message names a side by these two.
 * @param locale a BCP 47 tag
 */
export function withSideWords(messages: Messages, words: SideWords | undefined, locale: string): Messages {
  const named = (["yes", "no"] as const).flatMap((side) => {
    const word = sideWord(words, side, locale);
    return word === undefined ? [] : [[`common.${side}`, word]];
  });
  return named.length === 0 ? messages : { ...messages, ...Object.fromEntries(named) };
}
