/** The form of a label's name and value. */
export const LABEL = /^[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?$/;

/** The labels of a tenant: values by name. */
export type Labels = Readonly<Record<string, string>>;

/** The requirement of a selector for one label. */
interface Requirement {
  label: string;
  /** The values in question; any value by default. */
  values?: readonly string[];
  /** Whether the label must have one of the values, or must not; a tenant without the label has none. */
  holds: boolean;
}

/** Requirements that must all be met. */
export type Selector = readonly Requirement[];

/** The error for an invalid selector. The message begins with the place in the text. */
export class SelectorError extends Error {
  override name = "SelectorError";
}

/** Whether a tenant with these labels is selected. */
export function selects(selector: Selector, labels: Labels): boolean {
  return selector.every(({ label, values, holds }) => {
    // A label may be called `constructor`, which every object has.
    const value = Object.hasOwn(labels, label) ? labels[label] : undefined;
    return (value !== undefined && (values?.includes(value) ?? true)) === holds;
  });
}

/**
 * Reads `a=b`, `a!=b`, `a`, `!a`, `a in (x,y)` and `a notin (x,y)`, separated by commas that mean "and". An empty text
 * is refused: it would select every tenant, and is most likely an unset variable of a script.
 *
 * @throws SelectorError naming the first wrong character, counted from 1
 */
export function parseSelector(text: string): Selector {
  const tokens = tokensOf(text);
  const selector: Requirement[] = [];
  do selector.push(requirement(tokens));
  while (tokens.take(","));
  tokens.expect("end");
  return selector;
}

function requirement(tokens: Tokens): Requirement {
  if (tokens.take("!")) return { label: tokens.label("a label's name"), holds: false };
  const label = tokens.label("a label's name or !");
  const operator = ["=", "!=", "in", "notin"].find((each) => tokens.take(each));
  if (operator === undefined) return { label, holds: true };
  const isSet = operator === "in" || operator === "notin";
  return {
    label,
    values: isSet ? valueSet(tokens) : [tokens.label("a value")],
    holds: operator === "=" || operator === "in",
  };
}

function valueSet(tokens: Tokens): string[] {
  const values: string[] = [];
  tokens.expect("(");
  do values.push(tokens.label("a value"));
  while (tokens.take(","));
  tokens.expect(")");
  return values;
}

/** The words and signs of a text, read from left to right. */
interface Tokens {
  /** Whether this word or sign is next; if so, it is consumed. */
  take(token: string): boolean;
  /** Reads a name or a value. @throws SelectorError for anything else or a malformed name */
  label(what: string): string;
  /** Reads a sign, or the end. @throws SelectorError for anything else */
  expect(sign: "(" | ")" | "end"): void;
}

function tokensOf(text: string): Tokens {
  const tokens = [...text.matchAll(/[A-Za-z0-9._/-]+|!=|\S/gu)];
  let next = 0;
  const fail = (expected: string) => {
    const found = tokens[next];
    const place = `character ${(found?.index ?? text.length) + 1}`;
    const there = found === undefined ? "the text ends" : `found ${JSON.stringify(found[0])}`;
    return new SelectorError(`${place}: expected ${expected}, but ${there}`);
  };
  return {
    take(token) {
      if (tokens[next]?.[0] !== token) return false;
      next += 1;
      return true;
    },
    label(what) {
      const [word = ""] = tokens[next] ?? [];
      if (!LABEL.test(word)) throw fail(what);
      next += 1;
      return word;
    },
    expect(sign) {
      if (sign !== "end" && this.take(sign)) return;
      if (sign !== "end") throw fail(sign);
      if (next < tokens.length) throw fail("a comma or the end");
    },
  };
}
