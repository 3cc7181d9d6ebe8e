import { nearest } from "../domain/nearest.ts";
import type { EmbedOptions } from "./host/types.ts";

/** What the page's author hears: what is wrong, and what helps. */
type Advice = readonly [about: string, advice: unknown];

/** Every option with its attribute; empty where the element has a property instead, or events. */
const OPTIONS: Readonly<Record<keyof EmbedOptions, string>> = {
  view: "view",
  theme: "theme",
  height: "height",
  marketId: "market",
  marketIds: "market",
  autoHeight: "auto-height",
  locale: "locale",
  loading: "loading",
  consent: "consent",
  signIn: "",
  brand: "",
  getToken: "",
  onEvent: "",
  onAction: "",
};

/** A page may send anything, so the lines and the words in them have bounds. */
const MOST_LINES = 20;
const LONGEST_WORD = 60;

/** What an option has to be, and what it is instead where the rule does not say that. */
const RULES: Readonly<Record<string, (given: string) => Advice>> = {
  height: (given) => ["height must be 120 to 4000 CSS pixels", short(given)],
  loading: () => ["loading must be one of", ["lazy", "eager"]],
};

/**
 * What the page's author can mend: wrong values, and the nearest known words to unknown ones.
 * @param wrong options with a value that is not theirs, each as it was given
 * @param options names that are no option
 * @param attributes of the element, which are not among the widget's
 */
export function adviceOn(
  wrong: readonly (readonly [name: string, given: string])[],
  options: readonly string[],
  attributes: readonly string[],
): readonly Advice[] {
  const lines = [
    ...wrong.map(([name, given]) => RULES[name]?.(given)),
    ...options.map((name) => adviceOnOption(name, Object.keys(OPTIONS))),
    ...attributes.map((name) => adviceOnAttribute(name, OPTIONS)),
  ];
  return lines.filter((line) => line !== undefined).slice(0, MOST_LINES);
}

function adviceOnOption(name: string, known: readonly string[]): Advice {
  const meant = nearest(name, known);
  return [
    `unknown option ${short(name)}`,
    meant === undefined ? `the options are ${known.join(", ")}` : `did you mean ${meant}?`,
  ];
}

/** Undefined for an attribute that an element may have for other purposes. */
function adviceOnAttribute(name: string, known: Readonly<Record<string, string>>): Advice | undefined {
  if (isOfEveryElement(name)) return undefined;
  const word = name.replace(/^data-/, "");
  const attributes = [...new Set(Object.values(known))].filter((attribute) => attribute !== "");
  const about = `unknown attribute ${short(name)}`;
  const attribute = nearest(word, attributes);
  if (attribute !== undefined) return [about, `did you mean ${attribute}?`];
  const property = nearest(
    word,
    Object.keys(known).filter((option) => known[option] === ""),
  );
  if (property !== undefined) return [about, `did you mean the property ${property}?`];
  // Frameworks, tests and analytics mark elements by names with other characters.
  return /^[a-z]+$/.test(name) ? [about, `the attributes are ${attributes.join(", ")}`] : undefined;
}

/** Whether HTML gives the attribute a meaning on every element. Most of these are properties too, in other letter case. */
function isOfEveryElement(name: string): boolean {
  for (const property in document.body) if (property.toLowerCase() === name) return true;
  return name === "is" || /^item[a-z]+$/.test(name);
}

function short(word: string): string {
  return word.length > LONGEST_WORD ? `${word.slice(0, LONGEST_WORD)}…` : word;
}
