import { compareDecimals, parseDecimal } from "./decimal.ts";
import { parseTimestamp } from "./time/timestamp.ts";
import { HOUR_MS, UNIT_MS } from "./time/units.ts";

export const COMPARATORS = [">", ">=", "<", "<=", "between"] as const;
export type Comparator = (typeof COMPARATORS)[number];

/** How the price at an instant is computed from the feed's observations. */
export type PriceRule = { kind: "last" } | { kind: "twap" | "median"; windowMs: number };

/** A reference by which the oracle settles a market. Strikes are plain decimal texts, so that they stay exact. */
export interface Reference {
  /** `venue:instrument` in lower case. */
  feed: string;
  comparator: Comparator;
  /** The lower bound of `between`. */
  strike: string;
  /** The upper bound of `between`, else null. */
  upperStrike: string | null;
  /** Milliseconds since the epoch; null for the closing time. */
  instant: number | null;
  rule: PriceRule;
}

/** Why a text does not parse, and at which character, counted from 0. */
export interface ReferenceProblem {
  at: number;
  message: string;
}

export type ParsedReference =
  | { kind: "reference"; reference: Reference }
  /** Only a feed key: the strike is in `meta`. */
  | { kind: "key"; feed: string }
  /** Free text, which does not begin with a feed key: a person settles the market. */
  | { kind: "text" }
  | { kind: "problem"; feed: string; problem: ReferenceProblem };

const FEED = /[a-z][a-z0-9_-]{0,31}:[a-z0-9][a-z0-9._-]{0,31}(?![a-z0-9._:/-])/iy;
const COMPARATOR = />=|<=|>|<|(?:above|below|between)(?![a-z])/iy;
const STRIKE = /-?\d{1,18}(?:\.\d{1,18})?(?![\d,eE])/y;
const INSTANT = /close(?![a-z])|\d{4}-\d\d-\d\d[Tt][^\s]*/iy;
const RULE = /last(?![a-z(])|(twap|median)\(\s*(\d{1,5})\s*(s|m|h)\s*\)/iy;
const WORDS: Readonly<Record<string, Comparator>> = { above: ">", below: "<" };
/** The longest window of a `twap` or `median`. */
export const LONGEST_WINDOW_MS = HOUR_MS;

/**
 * Reads `<venue>:<instrument> <cmp> <strike>[..<strike>] [@ close|<RFC 3339>] [by last|twap(60s)|median(60s)]`. Feed
 * keys and words may have any case. Text that does not begin with a feed key is free text, and valid.
 */
export function parseReference(text: string): ParsedReference {
  const scan = new Scanner(text);
  const key = scan.take(FEED);
  if (!key) return { kind: "text" };
  const feed = key[0].toLowerCase();
  if (scan.atEnd()) return { kind: "key", feed };
  try {
    return { kind: "reference", reference: { feed, ...readCondition(scan) } };
  } catch (problem) {
    if (problem instanceof ProblemAt)
      return { kind: "problem", feed, problem: { at: problem.at, message: problem.message } };
    throw problem;
  }
}

function readCondition(scan: Scanner): Omit<Reference, "feed"> {
  const word = scan.need(COMPARATOR, "expected >, >=, <, <=, above, below or between")[0].toLowerCase();
  const comparator = (WORDS[word] ?? word) as Comparator;
  const strike = scan.need(STRIKE, "expected a plain decimal such as 100000 or 1.085")[0];
  let upperStrike: string | null = null;
  if (comparator === "between") {
    scan.need(/\.\./y, "expected .. and the upper bound, such as 1.05..1.10");
    const at = scan.here();
    upperStrike = scan.need(STRIKE, "expected the upper bound, a plain decimal")[0];
    if (isLess(upperStrike, strike)) throw new ProblemAt(at, "the upper bound is below the lower one");
  }
  let instant: number | null = null;
  if (scan.take(/@/y)) {
    const at = scan.here();
    const [moment] = scan.need(INSTANT, "expected close or a time such as 2027-01-31T18:00:00Z");
    if (moment.toLowerCase() !== "close") {
      const parsed = parseTimestamp(moment);
      if (parsed === undefined) throw new ProblemAt(at, "expected a time with a zone, such as 2027-01-31T18:00:00Z");
      instant = parsed;
    }
  }
  const rule: PriceRule = scan.take(/by(?![a-z])/iy) ? readRule(scan) : { kind: "last" };
  if (!scan.atEnd()) throw new ProblemAt(scan.here(), "expected the end, or @ and a time, or by and a rule");
  return { comparator, strike, upperStrike, instant, rule };
}

function readRule(scan: Scanner): PriceRule {
  const at = scan.here();
  const [, kind, count, unit = ""] = scan.need(RULE, "expected last, twap(60s) or median(60s)");
  if (kind === undefined) return { kind: "last" };
  const windowMs = Number(count) * (UNIT_MS[unit.toLowerCase()] ?? 0);
  if (windowMs < 1000 || windowMs > LONGEST_WINDOW_MS) throw new ProblemAt(at, "the window must be from 1s to 1h");
  return { kind: kind.toLowerCase() as "twap" | "median", windowMs };
}

function isLess(left: string, right: string): boolean {
  const [a, b] = [parseDecimal(left), parseDecimal(right)];
  return a !== undefined && b !== undefined && compareDecimals(a, b) < 0;
}

class ProblemAt extends Error {
  readonly at: number;

  constructor(at: number, message: string) {
    super(message);
    this.at = at;
  }
}

/** Reads a text with sticky expressions; blanks between the parts are skipped. */
class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  here(): number {
    while (/\s/.test(this.#text.charAt(this.#at))) this.#at += 1;
    return this.#at;
  }

  atEnd(): boolean {
    return this.here() === this.#text.length;
  }

  take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.here();
    const match = pattern.exec(this.#text) ?? undefined;
    if (match) this.#at = pattern.lastIndex;
    return match;
  }

  need(pattern: RegExp, expectation: string): RegExpExecArray {
    const match = this.take(pattern);
    if (!match) throw new ProblemAt(this.#at, expectation);
    return match;
  }
}
