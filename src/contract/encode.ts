import { z } from "zod";

/** What a value becomes on its way out. */
export interface Encoded {
  /** JSON, whatever the value was. */
  wire: unknown;
  /** Where the value leaves its schema, and how; undefined when it does not. Values are not named. */
  mismatch: string | undefined;
}

/** Issues named of one value; a list of a thousand bad rows is one fault. */
const NAMED_ISSUES = 5;
/** Deeper than any answer; what refers to itself ends here. */
const MAX_DEPTH = 64;

/**
 * The wire form of a value by its schema. It never fails: what is stored or done is told, also where it is not what the
 * schema says. Only the parts that do not fit are approximated.
 */
export function encode(schema: z.core.$ZodType, value: unknown): Encoded {
  try {
    const encoded = z.safeEncode(schema, value);
    if (encoded.success) return { wire: encoded.data, mismatch: undefined };
    return { wire: approximate(schema, value), mismatch: describe(encoded.error.issues) };
  } catch (error) {
    // A codec's own function, such as that of dates, which has no text for some numbers.
    return { wire: approximate(schema, value), mismatch: error instanceof Error ? error.message : "cannot be encoded" };
  }
}

/** Whether a value that is in wire form already is what its schema says; the mismatch, or undefined. */
export function mismatchOf(schema: z.core.$ZodType, wire: unknown): string | undefined {
  const decoded = z.safeDecode(schema, wire);
  return decoded.success ? undefined : describe(decoded.error.issues);
}

function describe(issues: readonly z.core.$ZodIssue[]): string {
  const named = issues.slice(0, NAMED_ISSUES).map(({ path, message }) => `${path.join(".")}: ${message}`);
  const others = issues.length - named.length;
  return others > 0 ? `${named.join("; ")}; and ${others} more` : named.join("; ");
}

/** The shape is kept, so that a field that the schema does not name is never told. */
function approximate(schema: z.core.$ZodType, value: unknown): unknown {
  if (value === null || value === undefined) return value;
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case "optional":
    case "nullable":
    case "default":
    case "readonly":
      return encode(def.innerType, value).wire;
    case "array":
      return Array.isArray(value) ? value.map((item) => encode(def.element, item).wire) : plain(value);
    case "record":
      return isRecord(value)
        ? mapEntries(Object.entries(value), (_, item) => encode(def.valueType, item).wire)
        : plain(value);
    case "object":
      return isRecord(value) ? shapeOf(def, value) : plain(value);
    case "union": {
      const fitting = def.options.map((option) => encode(option, value)).find(({ mismatch }) => mismatch === undefined);
      return fitting ? fitting.wire : plain(value);
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
    return field ? encode(field, item).wire : plain(item);
  });
}

/** A value of the codec's inner type is converted, also where its result leaves the bounds; any other is told as it is. */
function throughCodec({ out, reverseTransform }: z.core.$ZodPipeDef, value: unknown): unknown {
  if (!reverseTransform || encode(out, value).mismatch !== undefined) return plain(value);
  try {
    return plain(reverseTransform(value, { value, issues: [] }));
  } catch {
    return plain(value);
  }
}

/** What JSON has for a value that no schema is known for: null for what it has nothing for. */
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
      if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
      if (Array.isArray(value)) return value.map((item) => plain(item, depth + 1));
      return value === null ? null : mapEntries(Object.entries(value), (_, item) => plain(item, depth + 1));
    default:
      return null;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function mapEntries(entries: [string, unknown][], convert: (key: string, value: unknown) => unknown): unknown {
  return Object.fromEntries(entries.map(([key, value]) => [key, convert(key, value)]));
}
