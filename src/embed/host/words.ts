import { CATALOGUES, DEFAULT_LOCALE } from "../../locales/catalogues.ts";

interface HostWords {
  locale: string;
  /** What assistive technology calls a frame until its document has a title. */
  title: string;
  /** What replaces the frame while it cannot be shown. */
  unavailable: string;
}

/**
 * `bin/assets.js` puts only those messages into the loader whose keys are literals here.
 * @param locale of the page; English serves for a language without words
 */
export function hostWords(locale: string): HostWords {
  const languageOf = (tag: string): string | undefined => tag.toLowerCase().split("-")[0];
  // No language has catalogues of two regions.
  const known = Object.keys(CATALOGUES) as (keyof typeof CATALOGUES)[];
  const found = known.find((one) => languageOf(one) === languageOf(locale)) ?? DEFAULT_LOCALE;
  const messages = CATALOGUES[found];
  return { locale: found, title: messages["page.marketFrame"], unavailable: messages["state.unavailable"] };
}
