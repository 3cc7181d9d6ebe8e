import { type Languages, tagsIn } from "../../locales/languages.ts";
import { type Speaker, speakerFor } from "../../locales/speaker.ts";
import type { Exchange } from "../exchange.ts";

/** Speaks to the readers of a tenant's pages. Times are in UTC, as the server does not know the reader's zone. */
export class Readers {
  readonly #languages: Languages;
  readonly #speakers = new Map<string, Speaker>();

  constructor(languages: Languages) {
    this.#languages = languages;
  }

  /** In the language of the query's `locale`, else in what the browser prefers, else in the tenant's. */
  speakerOf(exchange: Exchange): Speaker {
    const asked = new URLSearchParams(exchange.search).get("locale");
    const { locale, messages } = this.#languages.choose([
      ...(asked ? [asked] : []),
      ...tagsIn(exchange.header("accept-language")),
    ]);
    const known = this.#speakers.get(locale);
    if (known) return known;
    const speaker = speakerFor(locale, messages, { timeZone: "UTC" });
    this.#speakers.set(locale, speaker);
    return speaker;
  }
}
