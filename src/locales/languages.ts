import { CATALOGUES, DEFAULT_LOCALE, matchLocale } from "./catalogues.ts";
import type { Messages } from "./messages.ts";

/** A text for readers: one of every language, or one for each, by BCP 47 tag. */
export type Localised = string | Readonly<Record<string, string>>;

/** What a tenant says of its readers' languages; what it leaves out is built in. */
export interface LanguageOptions {
  /** The language where a reader states none at hand. */
  locale?: string | undefined;
  /** Every message of languages of the tenant's own, by BCP 47 tag; one that is built in too is replaced. */
  messages?: Readonly<Record<string, Messages>> | undefined;
  /** Names of the sides. */
  words?: { yes?: Localised | undefined; no?: Localised | undefined } | undefined;
  /** Names of categories by slug. */
  categories?: Readonly<Record<string, Localised>> | undefined;
}

/** A language with all that is said in it. */
export interface Language {
  locale: string;
  messages: Messages;
  /** Names of categories by slug; a slug without one is its own name. */
  categories: Readonly<Record<string, string>>;
}

/** The languages that a tenant's readers can choose from. */
export class Languages {
  readonly #options: LanguageOptions;
  readonly #catalogues: Readonly<Record<string, Messages>>;
  readonly #made = new Map<string, Language>();

  constructor(options: LanguageOptions = {}) {
    this.#options = options;
    this.#catalogues = { ...CATALOGUES, ...options.messages };
  }

  /** BCP 47 tags. */
  get locales(): string[] {
    return Object.keys(this.#catalogues);
  }

  /** The best for what a reader asks for, best first, else the tenant's, else English. What is no tag is passed over. */
  choose(asked: readonly string[]): Language {
    const { locale: usual = DEFAULT_LOCALE } = this.#options;
    return this.#language(matchLocale([...asked, usual], this.locales) ?? DEFAULT_LOCALE);
  }

  #language(locale: string): Language {
    const known = this.#made.get(locale);
    if (known) return known;
    const { words = {}, categories = {} } = this.#options;
    const messages = withSides(this.#catalogues[locale] ?? CATALOGUES[DEFAULT_LOCALE], words, locale);
    const names = Object.entries(categories).flatMap(([slug, name]) => {
      const text = textIn(name, locale);
      return text === undefined ? [] : [[slug, text]];
    });
    const made = { locale, messages, categories: Object.fromEntries(names) };
    this.#made.set(locale, made);
    return made;
  }
}

/** The messages with these names of the sides: other messages name a side by them. */
export function withSides(messages: Messages, words: NonNullable<LanguageOptions["words"]>, locale: string): Messages {
  const named = { ...messages };
  for (const side of ["yes", "no"] as const)
    named[`common.${side}`] = textIn(words[side], locale) ?? messages[`common.${side}`];
  return named;
}

/** The text for a language: its own, that of a nearer tag, else the one of every language. */
function textIn(text: Localised | undefined, locale: string): string | undefined {
  if (typeof text !== "object") return text;
  const tag = matchLocale([locale], Object.keys(text));
  return tag === undefined ? undefined : text[tag];
}

/** The tags of an `Accept-Language`, best first (RFC 9110, 12.5.4); those with weight zero are left out. */
export function tagsIn(accepted = ""): string[] {
  return accepted
    .split(",", 20)
    .map((entry) => {
      const [tag = "", ...parameters] = entry.split(";").map((part) => part.trim());
      const weight = parameters.find((parameter) => parameter.startsWith("q="));
      return { tag, weight: weight === undefined ? 1 : Number(weight.slice(2)) || 0 };
    })
    .filter(({ tag, weight }) => weight > 0 && /^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,4}$/.test(tag))
    .sort((a, b) => b.weight - a.weight)
    .map(({ tag }) => tag);
}
