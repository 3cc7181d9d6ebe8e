import type { SideWords } from "../../domain/theme/stated-theme.ts";
import { CATALOGUES, DEFAULT_LOCALE, matchLocale } from "../../locales/catalogues.ts";
import type { Messages } from "../../locales/messages.ts";
import { type Speaker, speakerFor } from "../../locales/speaker.ts";
import type { Exchange } from "../exchange.ts";
import { weightsIn } from "./compress.ts";

type Locale = keyof typeof CATALOGUES;
const KNOWN = Object.keys(CATALOGUES) as Locale[];

export interface ReaderOptions {
  /** Where neither the address nor the browser names a language that we have. */
  locale?: string | undefined;
  /** The tenant's names of the two sides. */
  words?: SideWords | undefined;
}

/** The speakers of a tenant's pages. Times are in UTC, as the server does not know the reader's zone. */
export class Readers {
  readonly #options: ReaderOptions;
  readonly #speakers = new Map<Locale, Speaker>();

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  /** In the language of the query's `locale`, else in what the browser prefers (RFC 9110, 12.5.4). */
  speakerOf(exchange: Exchange): Speaker {
    const locale = this.#localeOf(exchange);
    const known = this.#speakers.get(locale);
    if (known) return known;
    const speaker = speakerFor(locale, messagesOf(locale, this.#options.words), { timeZone: "UTC" });
    this.#speakers.set(locale, speaker);
    return speaker;
  }

  #localeOf(exchange: Exchange): Locale {
    const asked = new URLSearchParams(exchange.search).get("locale");
    const preferred = [...weightsIn(exchange.header("accept-language"))]
      .filter(([tag, weight]) => weight > 0 && tag !== "*")
      .toSorted(([, a], [, b]) => b - a)
      .map(([tag]) => tag);
    const wanted = [asked, ...preferred, this.#options.locale].filter((tag) => typeof tag === "string");
    const found = matchLocale(wanted, KNOWN);
    return KNOWN.find((locale) => locale === found) ?? DEFAULT_LOCALE;
  }
}

function messagesOf(locale: Locale, { yes, no }: SideWords = {}): Messages {
  const messages: Messages = CATALOGUES[locale];
  const word = (stated: SideWords["yes"]) => (typeof stated === "string" ? stated : stated?.[locale]);
  return {
    ...messages,
    "common.yes": word(yes) ?? messages["common.yes"],
    "common.no": word(no) ?? messages["common.no"],
  };
}
