import { z } from "zod";
import type { JsonObject } from "./openapi-parts.ts";

/**
 * The wire form of schemas, as one JSON Schema with its definitions among the document's components. zod drops examples and
 * defaults of transformed schemas, since they might belong to either form; the contract's examples and numbers are in wire form.
 */
export function wireSchema(schema: z.ZodType): {
  properties: Record<string, JsonObject>;
  $defs: Record<string, JsonObject>;
} {
  const all = z.toJSONSchema(schema, {
    target: "draft-2020-12",
    io: "input",
    override: ({ zodSchema, jsonSchema }) => {
      const examples = z.globalRegistry.get(zodSchema)?.examples as unknown[] | undefined;
      if (examples && jsonSchema.$ref === undefined) jsonSchema.examples = examples;
      const fallback: unknown = zodSchema instanceof z.ZodDefault ? zodSchema.def.defaultValue : undefined;
      if (typeof fallback === "number") jsonSchema.default = fallback;
    },
  });
  // zod numbers the definitions of recursive schemas without an id. The contract's only such schema is arbitrary JSON.
  const text = JSON.stringify(all)
    .replaceAll("#/$defs/", "#/components/schemas/")
    .replace(/__schema\d+/g, "AnyJson");
  return { properties: {}, $defs: {}, ...JSON.parse(text, markExtension) };
}

/** A field whose description calls it an extension is marked for programs too. */
function markExtension(_key: string, value: unknown): unknown {
  const isDescribed = typeof value === "object" && value !== null && "description" in value;
  const says = isDescribed && typeof value.description === "string" && value.description.startsWith("Extension:");
  return says ? { ...value, "x-extension": true } : value;
}

const REFERENCE = /"#\/components\/schemas\/([^"]+)"/g;

/** The components that the document's sections use, directly or through other components. */
export function usedComponents(
  sections: JsonObject,
  components: Record<string, JsonObject>,
): Record<string, JsonObject> {
  const used = new Set<string>();
  const visit = (part: unknown) => {
    for (const [, name = ""] of JSON.stringify(part).matchAll(REFERENCE)) {
      if (used.has(name)) continue;
      used.add(name);
      visit(components[name]);
    }
  };
  visit(sections);
  return Object.fromEntries(Object.entries(components).filter(([name]) => used.has(name)));
}
