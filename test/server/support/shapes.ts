import { expect } from "vitest";

/** Throws when a value is not of the shape, naming the place. */
export type Shape = (value: unknown, place: string) => void;

function shape(what: string, holds: (value: unknown) => boolean): Shape {
  return (value, place) => {
    if (!holds(value)) throw new Error(`${place} must be ${what}, got ${JSON.stringify(value)}`);
  };
}

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

export const string = shape("a string", (value) => typeof value === "string");
export const number = shape("a number", isNumber);
export const integer = shape("an integer", Number.isSafeInteger);
export const count = shape("a count", (value) => Number.isSafeInteger(value) && Number(value) >= 0);
export const boolean = shape("a boolean", (value) => typeof value === "boolean");
export const price = shape("a number from 0 to 1", (value) => isNumber(value) && value >= 0 && value <= 1);
/** ISO 8601 in UTC. */
export const timestamp = shape(
  "an ISO 8601 timestamp in UTC",
  (value) =>
    typeof value === "string" &&
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value) &&
    !Number.isNaN(Date.parse(value)),
);
export const anyObject = shape(
  "an object",
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
);

export const oneOf = (...values: unknown[]): Shape =>
  shape(`one of ${JSON.stringify(values)}`, (value) => values.includes(value));

export const nullable =
  (inner: Shape): Shape =>
  (value, place) => {
    if (value !== null) inner(value, place);
  };

export const arrayOf =
  (item: Shape): Shape =>
  (value, place) => {
    if (!Array.isArray(value)) throw new Error(`${place} must be an array, got ${JSON.stringify(value)}`);
    value.forEach((each, index) => {
      item(each, `${place}[${index}]`);
    });
  };

/** Every field of the specification with its type, and beyond them only those that are named as additions. */
export const object =
  (fields: Record<string, Shape>, additions: readonly string[] = []): Shape =>
  (value, place) => {
    anyObject(value, place);
    const given = value as Record<string, unknown>;
    for (const [name, inner] of Object.entries(fields)) inner(given[name], `${place}.${name}`);
    const others = Object.keys(given).filter((name) => !(name in fields) && !additions.includes(name));
    expect({ place, others }).toEqual({ place, others: [] });
  };
