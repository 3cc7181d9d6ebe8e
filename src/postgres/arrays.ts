export type Cell = string | number | bigint | boolean | null;
type Value = NonNullable<Cell>;

/** The characters that array syntax would not take literally between quotes. */
const SPECIAL = /["\\]/g;

/** A PostgreSQL array literal, built here because the driver cannot send bigint or boolean arrays. */
export function arrayLiteral(values: readonly Cell[], toText: (value: Value) => string): string {
  return `{${values.map((value) => (value === null ? "NULL" : toText(value))).join(",")}}`;
}

/** A text as an element of an array literal. */
export function quoted(value: Value): string {
  return `"${String(value).replace(SPECIAL, "\\$&")}"`;
}

/** A text[] literal: with `fetch_types` off the driver does not know array types. */
export function textArray(values: readonly string[]): string {
  return arrayLiteral(values, quoted);
}
