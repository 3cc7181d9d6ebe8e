import { CATALOGUES, DEFAULT_LOCALE, matchLocale } from "../../locales/catalogues.ts";
import { type Speaker, speakerFor } from "../../locales/speaker.ts";
import type { Exchange } from "../exchange.ts";
import { weightsIn } from "./compress.ts";

const KNOWN = Object.keys(CATALOGUES) as (keyof typeof CATALOGUES)[];
const speakers = new Map<string, Speaker>();

/** The language of a page: the query's `locale`, else what the browser prefers (RFC 9110, 12.5.4), else the default. */
export function readerLocale(exchange: Exchange): keyof typeof CATALOGUES {
  const asked = new URLSearchParams(exchange.search).get("locale");
  const preferred = [...weightsIn(exchange.header("accept-language"))]
    .filter(([tag, weight]) => weight > 0 && tag !== "*")
    .toSorted(([, a], [, b]) => b - a)
    .map(([tag]) => tag);
  const found = matchLocale(asked ? [asked, ...preferred] : preferred, KNOWN);
  return KNOWN.find((locale) => locale === found) ?? DEFAULT_LOCALE;
}

/** Says a page's words. Times are in UTC, as the server does not know the reader's zone. */
export function pageSpeaker(locale: keyof typeof CATALOGUES): Speaker {
  const known = speakers.get(locale);
  if (known) return known;
  const speaker = speakerFor(locale, CATALOGUES[locale], { timeZone: "UTC" });
  speakers.set(locale, speaker);
  return speaker;
}
