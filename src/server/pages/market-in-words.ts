import type { FrameMarket } from "../../contract/resources/embed.ts";
import { endSentences, lastValue, needsSentences } from "../../locales/end-sentences.ts";
import { sourceSentence } from "../../locales/source-sentence.ts";
import type { Speaker } from "../../locales/speaker.ts";
import type { ReadMarket, View } from "./embed-data.ts";

/** The server makes the sentences, so that frames need neither their words nor a parser of references. */
export function marketInWords(view: View, { finalValue, ...market }: ReadMarket, speaker: Speaker): FrameMarket {
  const { detail } = market;
  if (view !== "market") return needsSentences(detail) ? { ...market, ended: endSentences(speaker, detail) } : market;
  const source = sourceSentence(speaker, detail);
  if (detail.outcome === null) return { ...market, source };
  return { ...market, source, ended: [...endSentences(speaker, detail), lastValue(speaker, detail, finalValue)] };
}
