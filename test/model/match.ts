/** What an answer is expected to be: JSON, in which a matcher may stand wherever the model leaves a choice. */
export type Expected = unknown;

/** A place in an expectation that more than one value satisfies. */
export abstract class Matcher {
  abstract accepts(actual: unknown): boolean;
  abstract toJSON(): unknown;
}

/** One of several values: where a double may round a tie either way. */
export class OneOf extends Matcher {
  readonly values: readonly unknown[];
  constructor(values: readonly unknown[]) {
    super();
    this.values = values;
  }
  accepts(actual: unknown): boolean {
    return this.values.some((value) => difference(value, actual) === undefined);
  }
  toJSON(): unknown {
    return { oneOf: this.values };
  }
}

/** A timestamp that the database made, between two readings of this machine's clock. */
export class Between extends Matcher {
  readonly from: number;
  readonly to: number;
  constructor(from: number, to: number) {
    super();
    this.from = from;
    this.to = to;
  }
  accepts(actual: unknown): boolean {
    const instant = typeof actual === "string" ? Date.parse(actual) : Number.NaN;
    return instant >= this.from - CLOCK_STEP_MS && instant <= this.to + CLOCK_STEP_MS;
  }
  toJSON(): unknown {
    return { between: [new Date(this.from).toISOString(), new Date(this.to).toISOString()] };
  }
}

/** The database's clock is carried by a monotonic one between readings, so it may be off by a little. */
const CLOCK_STEP_MS = 1_000;

/** A number between two others, both included: where rounding leaves several neighbours open. */
export class InRange extends Matcher {
  readonly low: number;
  readonly high: number;
  constructor(low: number, high: number) {
    super();
    this.low = low;
    this.high = high;
  }
  accepts(actual: unknown): boolean {
    return typeof actual === "number" && actual >= this.low && actual <= this.high;
  }
  toJSON(): unknown {
    return { inRange: [this.low, this.high] };
  }
}

/** Any value of a shape. */
export class Like extends Matcher {
  readonly name: string;
  readonly accepts: (actual: unknown) => boolean;
  constructor(name: string, accepts: (actual: unknown) => boolean) {
    super();
    this.name = name;
    this.accepts = accepts;
  }
  toJSON(): unknown {
    return { like: this.name };
  }
}

export const anyId = new Like("an identifier", (actual) => typeof actual === "string" && actual !== "");

/** A list whose order is not promised. */
export class InAnyOrder extends Matcher {
  readonly items: readonly unknown[];
  constructor(items: readonly unknown[]) {
    super();
    this.items = items;
  }
  accepts(actual: unknown): boolean {
    if (!Array.isArray(actual) || actual.length !== this.items.length) return false;
    const left = [...actual];
    return this.items.every((item) => {
      const index = left.findIndex((each) => difference(item, each) === undefined);
      if (index >= 0) left.splice(index, 1);
      return index >= 0;
    });
  }
  toJSON(): unknown {
    return { inAnyOrder: this.items };
  }
}

/**
 * Where an answer departs from what was expected, as `path: expected … got …`; undefined when it does not. Fields that
 * the expectation does not name may be there, since answers may grow; lists must have exactly the expected items.
 */
export function difference(expected: Expected, actual: unknown, path = "$"): string | undefined {
  if (expected instanceof Matcher) return expected.accepts(actual) ? undefined : departure(path, expected, actual);
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return departure(path, expected, actual);
    if (actual.length !== expected.length)
      return `${path}: expected ${expected.length} items, got ${actual.length}: ${departure(path, expected, actual)}`;
    return first(expected.map((item, index) => () => difference(item, actual[index], `${path}[${index}]`)));
  }
  if (typeof expected === "object" && expected !== null) {
    if (typeof actual !== "object" || actual === null) return departure(path, expected, actual);
    const fields = actual as Record<string, unknown>;
    return first(
      Object.entries(expected).map(
        ([name, value]) =>
          () =>
            difference(value, fields[name], `${path}.${name}`),
      ),
    );
  }
  return Object.is(expected, actual) || expected === actual ? undefined : departure(path, expected, actual);
}

function first(checks: (() => string | undefined)[]): string | undefined {
  for (const check of checks) {
    const found = check();
    if (found !== undefined) return found;
  }
  return undefined;
}

function departure(path: string, expected: unknown, actual: unknown): string {
  return `${path}: expected ${show(expected)}, got ${show(actual)}`;
}

function show(value: unknown): string {
  return (JSON.stringify(value) ?? "nothing").slice(0, 1500);
}
