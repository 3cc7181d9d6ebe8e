import type { Side } from "./pool.ts";

/** A settlement between the sides, as what a YES share is paid: a decimal text of at most six digits, such as "0.4". */
export type Fraction = `0.${string}`;
/** What a settlement decides. */
export type Settled = Side | Fraction;
/** How a market ends. `void` pays back what the open positions cost. The form of columns, queries and flags. */
export type Outcome = Settled | "void";

/** The form of answers and audit entries, whose fractions are a number and a decimal text. */
export type OutcomeShape<Part> = Side | "void" | { yes: Part };

const WHOLE_PPM = 1_000_000;

/** @param yesPpm what a YES share is paid, in micro-dollars: 1 to 999,999 */
export function fractionOf(yesPpm: number): Fraction {
  return `0.${String(yesPpm).padStart(6, "0").replace(/0+$/, "")}`;
}

/** An outcome in words, such as `Yes`, `Void` or `Yes at 0.4`. */
export function outcomeName(shape: OutcomeShape<number | string>): string {
  if (typeof shape !== "string") return `Yes at ${shape.yes}`;
  return shape === "void" ? "Void" : shape === "yes" ? "Yes" : "No";
}

/** The outcome of a query or flag: `yes`, `no`, `void`, or a fraction such as `yes=0.4`; undefined for other text. */
export function outcomeIn(text: string): Outcome | undefined {
  if (text === "yes" || text === "no" || text === "void") return text;
  const yesPpm = /^yes=0\.\d{1,6}$/.test(text) ? Math.round(Number(text.slice("yes=".length)) * WHOLE_PPM) : 0;
  return yesPpm > 0 ? fractionOf(yesPpm) : undefined;
}

/** The inverse for answers. */
export function outcomeFlag(shape: OutcomeShape<number>): string {
  return typeof shape === "string" ? shape : `yes=${shape.yes}`;
}

/** The outcome of an answer or an audit entry as one text. */
export function outcomeOf<Shape extends OutcomeShape<number | string>>(
  shape: Shape,
): Shape extends string ? Shape : Fraction;
export function outcomeOf(shape: OutcomeShape<number | string>): Outcome {
  return typeof shape === "string" ? shape : fractionOf(Math.round(Number(shape.yes) * WHOLE_PPM));
}

/** The inverse of {@link outcomeOf} for audit entries. */
export function outcomeOnRecord<O extends Outcome>(outcome: O): O extends Fraction ? { yes: string } : O;
export function outcomeOnRecord(outcome: Outcome): OutcomeShape<string> {
  return isFraction(outcome) ? { yes: outcome } : outcome;
}

/** Whether the outcome is between the sides. */
export function isFraction(outcome: Outcome): outcome is Fraction {
  return outcome !== "yes" && outcome !== "no" && outcome !== "void";
}

/** The outcome of an audit entry as answers and events state it. */
export function outcomeShown<Shape extends OutcomeShape<string>>(
  shape: Shape,
): Shape extends string ? Shape : { yes: number };
export function outcomeShown(shape: OutcomeShape<string>): OutcomeShape<number> {
  return typeof shape === "string" ? shape : { yes: Number(shape.yes) };
}

/** What a share of a side is paid, in micro-dollars per share. */
export function paidPpm(side: Side, outcome: Settled): number {
  const yesPpm = outcome === "yes" ? WHOLE_PPM : outcome === "no" ? 0 : Math.round(Number(outcome) * WHOLE_PPM);
  return side === "yes" ? yesPpm : WHOLE_PPM - yesPpm;
}
