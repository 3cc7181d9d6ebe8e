import type { Random } from "../model/random.ts";
import type { Schema } from "../server/support/bad-values.ts";
import { NUMBERS, TEXTS } from "./mutate.ts";

/** A number as it is written, which may be none that JavaScript can hold. */
class Literal {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Value = null | boolean | number | string | Literal | Value[] | { [key: string]: Value };

/** What a field may well hold, so that cases come past the first look: names that exist, cursors that were given out. */
export type Known = (field: string, random: Random) => string | undefined;

/** A value that fits the schema, but for what chance puts in its place. */
export function generated(schema: Schema, random: Random, known: Known, wrong: number): Value {
  const definitions = schema.$defs ?? {};
  const visit = (given: Schema, field: string, depth: number): Value => {
    const part = given.$ref === undefined ? given : (definitions[given.$ref.replace(/^.*\//, "")] ?? {});
    if (random.chance(wrong)) return anything(random, depth);
    const name = known(field, random);
    if (name !== undefined && random.chance(0.8)) return name;
    if (part.const !== undefined) return part.const as Value;
    if (part.enum) return random.pick(part.enum) as Value;
    if (part.anyOf) return visit(random.pick(part.anyOf), field, depth + 1);
    const examples = (part as { examples?: Value[] }).examples;
    if (examples && random.chance(0.6)) return random.pick(examples);
    switch (part.type) {
      case "object":
        return objectOf(part, random, (inner, key) => visit(inner, key, depth + 1));
      case "array":
        return Array.from({ length: random.integer(0, Math.min(4, part.maxItems ?? 4)) }, () =>
          visit(part.items ?? {}, field, depth + 1),
        );
      case "number":
      case "integer":
        return numberOf(part, random);
      case "string":
        return stringOf(part, random);
      case "boolean":
        return random.chance(0.5);
      case "null":
        return null;
      default:
        return depth > 4 ? null : anything(random, depth + 1);
    }
  };
  return visit(schema, "", 0);
}

function objectOf(part: Schema, random: Random, inner: (schema: Schema, key: string) => Value): Value {
  const made: { [key: string]: Value } = {};
  for (const [key, schema] of Object.entries(part.properties ?? {}))
    if (part.required?.includes(key) ? !random.chance(0.02) : random.chance(0.4)) made[key] = inner(schema, key);
  const { additionalProperties } = part;
  if (typeof additionalProperties === "object")
    for (let left = random.integer(0, 3); left > 0; left--)
      Object.defineProperty(made, random.pick(["q1", "q2", "a.b", ...TEXTS]), {
        value: inner(additionalProperties, ""),
        enumerable: true,
        configurable: true,
      });
  return made;
}

function numberOf({ minimum, maximum, exclusiveMinimum, type }: Schema, random: Random): Value {
  const low = Math.max(minimum ?? exclusiveMinimum ?? 0, -1e9);
  const high = Math.min(maximum ?? 1000, 1e9);
  const edge = random.pick([low, high, low + 1, high - 1, low - 1, high + 1]);
  if (random.chance(0.2)) return edge;
  const value = low + random.next() ** 3 * (high - low);
  return type === "integer" ? Math.round(value) : Math.round(value * 1e6) / 1e6;
}

function stringOf({ minLength = 1, maxLength = 40 }: Schema, random: Random): string {
  if (random.chance(0.3)) return random.pick(TEXTS);
  if (random.chance(0.1)) return "x".repeat(Math.min(maxLength + random.integer(-1, 1), 70_000));
  return "abc".repeat(20).slice(0, random.integer(minLength, Math.max(minLength, Math.min(maxLength, 20))));
}

/** Of any type. */
export function anything(random: Random, depth = 0): Value {
  const kinds = { number: 3, text: 3, null: 1, boolean: 1, array: depth > 3 ? 0 : 1, object: depth > 3 ? 0 : 1 };
  switch (random.weighted(kinds)) {
    case "number":
      return new Literal(random.pick(NUMBERS));
    case "text":
      return random.pick(TEXTS);
    case "null":
      return null;
    case "boolean":
      return random.chance(0.5);
    case "array":
      return Array.from({ length: random.integer(0, 3) }, () => anything(random, depth + 1));
    case "object":
      return Object.fromEntries([[random.pick(TEXTS), anything(random, depth + 1)]]);
  }
}

/** As text, numbers as they stand. */
export function written(value: Value): string {
  if (value instanceof Literal) return value.text;
  if (Array.isArray(value)) return `[${value.map(written).join(",")}]`;
  if (typeof value === "object" && value !== null)
    return `{${Object.entries(value)
      .map(([key, inner]) => `${JSON.stringify(key)}:${written(inner)}`)
      .join(",")}}`;
  return JSON.stringify(value);
}
