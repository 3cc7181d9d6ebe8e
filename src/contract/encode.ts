import { z } from "zod";
import { NumberText } from "../domain/json/exact-json.ts";
import { isMapping } from "../domain/json/mapping.ts";
import { compiledEncoder, UNFIT } from "./compiled.ts";

/** The wire form of a value. */
export interface Encoded {
  wire: unknown;
  /** Which fields do not fit the schema, and why, without their values; undefined when all fit. */
  mismatch: string | undefined;
}

/** How many issues of one value are described: a list of a thousand bad rows has one cause. */
const NAMED_ISSUES = 5;
/** Deeper than any answer, so that encoding a circular value ends. */
const MAX_DEPTH = 64;

/**
 * Encodes a value by its schema. It never fails: stored data and completed changes are answered even where they do not
 * fit the schema. Only the parts that do not fit are approximated.
 */
export function encode(schema: z.core.$ZodType, value: unknown): Encoded {
  try {
    const wire = compiledEncoder(schema)(value);
    if (wire !== UNFIT) return { wire, mismatch: undefined };
  } catch {
    // The code below describes what does not fit.
  }
  return interpret(schema, value);
}

/** Encodes with zod alone, which names what does not fit. */
export function interpret(schema: z.core.$ZodType, value: unknown): Encoded {
  try {
    const encoded = z.safeEncode(schema, value);
    if (encoded.success) return { wire: encoded.data, mismatch: undefined };
    return { wire: approximate(schema, value), mismatch: describe(encoded.error.issues) };
  } catch (error) {
    // A codec's own function threw, as the one for dates does for a number outside the calendar.
    return { wire: approximate(schema, value), mismatch: error instanceof Error ? error.message : "cannot be encoded" };
  }
}

/** Picks the fields that an object's schema names, in the schema's order, from a value in wire form. */
export function inOrderOf<Schema extends z.ZodObject>({ shape }: Schema, wire: z.input<Schema>): z.input<Schema> {
  const fields = wire as Readonly<Record<string, unknown>>;
  const ordered = Object.keys(shape).filter((name) => fields[name] !== undefined);
  return Object.fromEntries(ordered.map((name) => [name, fields[name]])) as z.input<Schema>;
}

/** How a value in wire form deviates from its schema; undefined when it fits. */
export function mismatchOf(schema: z.core.$ZodType, wire: unknown): string | undefined {
  const decoded = z.safeDecode(schema, wire);
  return decoded.success ? undefined : describe(decoded.error.issues);
}

function describe(issues: readonly z.core.$ZodIssue[]): string {
  const named = issues.slice(0, NAMED_ISSUES).map(({ path, message }) => `${path.join(".")}: ${message}`);
  const others = issues.length - named.length;
  return others > 0 ? `${named.join("; ")}; and ${others} more` : named.join("; ");
}

/** Keeps to the schema's shape, so that a field outside the schema is never sent. */
function approximate(schema: z.core.$ZodType, value: unknown): unknown {
  if (value === null || value === undefined) return value;
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case "optional":
    case "nullable":
    case "default":
    case "readonly":
      return interpret(def.innerType, value).wire;
    case "array":
      return Array.isArray(value) ? value.map((item) => interpret(def.element, item).wire) : plain(value);
    case "record":
      return isMapping(value)
        ? mapEntries(Object.entries(value), (_, item) => interpret(def.valueType, item).wire)
        : plain(value);
    case "object":
      return isMapping(value) ? shapeOf(def, value) : plain(value);
    case "union": {
      const fitting = def.options
        .map((option) => interpret(option, value))
        .find(({ mismatch }) => mismatch === undefined);
      if (fitting) return fitting.wire;
      const object = def.options.find((option) => (option as z.core.$ZodTypes)._zod.def.type === "object");
      return object && isMapping(value) ? interpret(object, value).wire : plain(value);
    }
    case "pipe":
      return throughCodec(def, value);
    default:
      return plain(value);
  }
}

function shapeOf({ shape, catchall }: z.core.$ZodObjectDef, value: Record<string, unknown>): unknown {
  const entries = Object.entries(value).filter(([key]) => Object.hasOwn(shape, key) || catchall !== undefined);
  return mapEntries(entries, (key, item) => {
    const field = Object.hasOwn(shape, key) ? shape[key] : catchall;
    return field ? interpret(field, item).wire : plain(item);
  });
}

/**
 * Converts a value of the codec's inner type even when the result is out of bounds; passes any other value on as it is.
 */
function throughCodec({ out, reverseTransform }: z.core.$ZodPipeDef, value: unknown): unknown {
  if (!reverseTransform || interpret(out, value).mismatch !== undefined) return plain(value);
  try {
    return plain(reverseTransform(value, { value, issues: [] }));
  } catch {
    return plain(value);
  }
}

/** JSON for a value without a schema; null for a value that JSON cannot express. */
function plain(value: unknown, depth = 0): unknown {
  if (depth > MAX_DEPTH) return null;
  switch (typeof value) {
    case "string":
    case "boolean":
    case "undefined":
      return value;
    case "number":
      return Number.isFinite(value) ? value : null;
    case "bigint":
      return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
    case "object":
      if (value instanceof NumberText) return value;
      if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
      if (Array.isArray(value)) return value.map((item) => plain(item, depth + 1));
      return value === null ? null : mapEntries(Object.entries(value), (_, item) => plain(item, depth + 1));
    default:
      return null;
  }
}

function mapEntries(entries: [string, unknown][], convert: (key: string, value: unknown) => unknown): unknown {
  return Object.fromEntries(entries.map(([key, value]) => [key, convert(key, value)]));
}
