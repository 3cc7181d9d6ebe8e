import type { z } from "zod";
import { describeMistake, jsonSentence } from "../../contract/issue-sentence.ts";
import { PolicyPatchSchema } from "../../contract/resources/policy.ts";
import { Fault } from "../../domain/fault.ts";
import { nearest } from "../../domain/nearest.ts";
import type { PolicyPatch } from "../../domain/policy/policy.ts";

type Mapping = { [key: string]: unknown };

/**
 * Reads `feeBps=120`, `jurisdictions.blocked=US,CU` or `suitabilityThresholds.tiers=[{"minScore":0,"capUsd":500}]` into
 * one patch. The field's type in the schema decides how a text is read, so `NO` stays a country.
 *
 * @throws Fault USAGE naming the field that is unknown, stated twice, or of another type
 */
export function policyPatch(assignments: readonly string[]): PolicyPatch {
  const patch: Mapping = {};
  for (const assignment of assignments) {
    const split = assignment.indexOf("=");
    if (split < 1) throw new Fault("USAGE", `${JSON.stringify(assignment)} must be KEY=VALUE, such as feeBps=120`);
    const key = assignment.slice(0, split);
    assign(patch, key, readValue(key, assignment.slice(split + 1)));
  }
  const checked = PolicyPatchSchema.safeParse(patch, { error: jsonSentence });
  if (checked.success) return checked.data;
  throw new Fault("USAGE", describeMistake(checked.error));
}

function assign(patch: Mapping, key: string, value: unknown): void {
  const steps = key.split(".");
  const last = steps.pop() ?? key;
  let target = patch;
  for (const step of steps) {
    target[step] ??= {};
    target = target[step] as Mapping;
  }
  if (Object.hasOwn(target, last)) throw new Fault("USAGE", `${key} is stated twice`);
  target[last] = value;
}

function fieldSchema(key: string): z.ZodType {
  let schema: z.ZodType = PolicyPatchSchema;
  let path = "";
  for (const step of key.split(".")) {
    const shape = shapeOf(schema);
    const next = shape && Object.hasOwn(shape, step) ? shape[step] : undefined;
    if (!next) throw unknownField(key, Object.keys(shape ?? {}), step, path);
    schema = unwrap(next);
    path = path === "" ? step : `${path}.${step}`;
  }
  return schema;
}

function unknownField(key: string, known: readonly string[], step: string, path: string): Fault {
  const meant = nearest(step, known);
  const full = (name: string) => (path === "" ? name : `${path}.${name}`);
  if (known.length === 0)
    return new Fault("USAGE", `There is no policy field ${key}: ${path} has no fields of its own`);
  const hint = meant === undefined ? `there are: ${known.map(full).join(", ")}` : `did you mean ${full(meant)}?`;
  return new Fault("USAGE", `There is no policy field ${key}; ${hint}`);
}

function readValue(key: string, text: string): unknown {
  const schema = fieldSchema(key);
  const fail = (kind: string) => new Fault("USAGE", `${key} must be ${kind} (got ${JSON.stringify(text)})`);
  switch (schema.type) {
    case "number":
      if (!/^-?\d{1,15}(\.\d{1,15})?$/.test(text)) throw fail("a number");
      return Number(text);
    case "boolean":
      if (text !== "true" && text !== "false") throw fail("true or false");
      return text === "true";
    case "array":
      if (text.startsWith("[")) return readJson(text, () => fail("a list: A,B or JSON"));
      return text === "" ? [] : text.split(",").map((item) => item.trim());
    case "object":
      return readJson(text, () => fail("a JSON object; or state its fields one by one"));
    default:
      // The custom oracle: an address, or null.
      return text === "null" || text === "" ? null : text;
  }
}

function readJson(text: string, failure: () => Fault): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw failure();
  }
}

function shapeOf(schema: z.ZodType): Readonly<Record<string, z.ZodType>> | undefined {
  return schema.type === "object" ? (schema as z.ZodObject).shape : undefined;
}

function unwrap(schema: z.ZodType): z.ZodType {
  return schema.type === "optional" ? unwrap((schema as z.ZodOptional<z.ZodType>).unwrap()) : schema;
}
