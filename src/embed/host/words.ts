import { CATALOGUES, DEFAULT_LOCALE } from "../../locales/catalogues.ts";

interface HostWords {
  locale: string;
  /** What assistive technology calls a frame until its document has a title. */
  title: string;
  /** What replaces the frame while it cannot be shown. */
  unavailable: string;
}

/**
 * `bin/assets.js` puts only the messages into the loader that stand here, each as a literal.
 * @param locale what was asked for; English for a language without words
 */
export function hostWords(locale: string): HostWords {
  const languageOf = (tag: string): string | undefined => tag.toLowerCase().split("-")[0];
  // None of the languages comes in two regions.
  const known = Object.keys(CATALOGUES) as (keyof typeof CATALOGUES)[];
  const found = known.find((one) => languageOf(one) === languageOf(locale)) ?? DEFAULT_LOCALE;
  const messages = CATALOGUES[found];
  return { locale: found, title: messages["page.marketFrame"], unavailable: messages["state.unavailable"] };
}
