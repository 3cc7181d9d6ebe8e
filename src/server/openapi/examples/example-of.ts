import type { JsonObject } from "../openapi-parts.ts";

const MAX_DEPTH = 12;

/** A value that the schema accepts, built from the examples of its parts. */
export function exampleOf(schema: JsonObject, components: Record<string, JsonObject>, depth = 0): unknown {
  if (depth > MAX_DEPTH) return null;
  const inner = (part: unknown) => exampleOf((part ?? {}) as JsonObject, components, depth + 1);
  if (Array.isArray(schema.examples)) return schema.examples[0];
  if (schema.default !== undefined && typeof schema.default !== "object") return schema.default;
  if ("const" in schema) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (typeof schema.$ref === "string") return inner(components[schema.$ref.replace(/^.*\//, "")]);
  const options = (schema.anyOf ?? schema.oneOf) as JsonObject[] | undefined;
  // A pattern gives no value, so an option without a pattern is preferred.
  if (options) return inner(options.find((one) => one.pattern === undefined || one.examples) ?? options[0]);
  if (Array.isArray(schema.allOf)) return Object.assign({}, ...schema.allOf.map(inner));
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case "object":
      return objectOf(schema, inner);
    case "array":
      return schema.maxItems === 0 ? [] : [inner(schema.items)];
    case "string":
      return "x".repeat(Math.max(1, Number(schema.minLength ?? 1)));
    case "integer":
    case "number":
      return Math.max(Number(schema.minimum ?? 1), 1);
    case "boolean":
      return true;
    default:
      return {};
  }
}

function objectOf(schema: JsonObject, inner: (part: unknown) => unknown): JsonObject {
  const properties = (schema.properties ?? {}) as Record<string, JsonObject>;
  const example = Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, inner(part)]));
  const isMap = Object.keys(properties).length === 0 && typeof schema.additionalProperties === "object";
  // A map of numbers gets an entry; other maps stay empty.
  const part = schema.additionalProperties as JsonObject | undefined;
  return isMap && part?.type === "integer" ? { q1: inner(part) } : example;
}
