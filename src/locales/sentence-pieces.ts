import type { MessageKey } from "./messages.ts";
import type { Speaker } from "./speaker.ts";

/** Part of a sentence: text, a time that each reader sees in a zone of their own, or another person's words. */
export type SentencePiece = string | { at: string } | { quote: string };
export type Sentence = readonly SentencePiece[];

/** A message in pieces. */
export function piecesOf(speaker: Speaker, key: MessageKey, values: Readonly<Record<string, SentencePiece>>): Sentence {
  return speaker.compose<SentencePiece>(key, values).filter((piece) => piece !== "");
}
