import ar from "./catalogue/ar.json" with { type: "json" };
import de from "./catalogue/de.json" with { type: "json" };
import en from "./catalogue/en.json" with { type: "json" };
import es from "./catalogue/es.json" with { type: "json" };
import fr from "./catalogue/fr.json" with { type: "json" };
import ja from "./catalogue/ja.json" with { type: "json" };
import ptBr from "./catalogue/pt-BR.json" with { type: "json" };
import type { Messages } from "./messages.ts";

/** The languages that come along, by BCP 47 tag. A file that lacks a key of `en` does not compile. */
export const CATALOGUES = { en, de, es, fr, "pt-BR": ptBr, ar, ja } as const satisfies Record<string, Messages>;

export const DEFAULT_LOCALE = "en";

/**
 * The best of the locales at hand for what a reader asks for (RFC 4647, 3.4: subtags are dropped from the end), so that
 * `de-AT` gets `de`; and a language alone gets its region, so that `pt` gets `pt-BR`.
 * @param asked BCP 47 tags, best first; what is no tag is passed over
 */
export function matchLocale(asked: readonly string[], known: readonly string[]): string | undefined {
  for (const tag of asked) {
    for (let rest = tag.toLowerCase(); rest !== ""; rest = rest.slice(0, Math.max(0, rest.lastIndexOf("-")))) {
      const found = known.find((one) => one.toLowerCase() === rest);
      if (found !== undefined) return found;
    }
    const language = tag.toLowerCase().split("-", 1)[0];
    const relative = known.find((one) => one.toLowerCase().split("-", 1)[0] === language);
    if (relative !== undefined) return relative;
  }
  return undefined;
}
