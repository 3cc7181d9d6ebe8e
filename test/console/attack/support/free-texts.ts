import type { z } from "zod";
import type { Operation } from "../../../../src/contract/operation.ts";
import { type OperationId, operationIds, operations } from "../../../../src/contract/operations.ts";

/** Fields of requests that take any text, such as `voidMarket.reason`; `{}` is a value of a record, `*` an unnamed field. */
export function freeTexts(isWanted: (operation: Operation) => boolean): string[] {
  const wanted = operationIds.filter((id) => isWanted(operations[id]));
  return [...new Set(wanted.flatMap((id) => [...textsIn(operations[id].input, id)]))];
}

/** The same paths in an input, with the texts that stand there. */
export function* statedTexts(id: OperationId, input: unknown): Generator<[path: string, text: string]> {
  yield* statedIn(operations[id].input, input, id);
}

type Schema = z.ZodType & { def: Record<string, never> & { type: string } };

function* textsIn(of: z.ZodType, path: string): Generator<string> {
  for (const [schema, at] of partsOf(of as Schema, path))
    if (at === path) {
      // Only a schema that has no parts is asked.
      if (["<b>\u05d0", "<b>\u202e"].some((text) => schema.safeParse(text).success)) yield path;
    } else yield* textsIn(schema, at);
}

function* statedIn(of: z.ZodType, value: unknown, path: string): Generator<[string, string]> {
  for (const [schema, at, take] of partsOf(of as Schema, path)) {
    if (at === path && !take) {
      for (const text of textsWithin(value)) yield [path, text];
      continue;
    }
    for (const part of take?.(value) ?? []) yield* statedIn(schema, part, at);
  }
}

function textsWithin(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, part]) => [name, ...textsWithin(part)]);
}

type Part = [schema: Schema, path: string, take?: (value: unknown) => readonly unknown[]];
const same = (value: unknown) => (value === undefined ? [] : [value]);
const record = (value: unknown) =>
  (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;

/** The parts of a schema, each with its path and with what a value has there; the schema itself where it has none. */
function partsOf(schema: Schema, path: string): Part[] {
  // biome-ignore lint/suspicious/noExplicitAny: the definitions of zod's schemas differ by their type
  const def = schema.def as any;
  switch (def.type) {
    case "object": {
      const shape = Object.entries(def.shape as Record<string, Schema>);
      const rest = def.catchall as Schema | undefined;
      const named = shape.map(([name, part]): Part => [part, `${path}.${name}`, (value) => same(record(value)[name])]);
      if (!rest || rest.def.type === "never") return named;
      const others = (value: unknown) =>
        Object.entries(record(value)).flatMap(([name, part]) => (name in def.shape ? [] : [part]));
      return [...named, [rest, `${path}.*`, others]];
    }
    case "array":
      return [[def.element, `${path}[]`, (value) => (Array.isArray(value) ? value : [])]];
    case "record":
      return [
        [def.keyType, `${path}{key}`, (value) => Object.keys(record(value))],
        [def.valueType, `${path}{}`, (value) => Object.values(record(value))],
      ];
    case "union":
      return (def.options as Schema[]).flatMap((each) => partsOf(each, path));
    case "optional":
    case "nullable":
    case "default":
    case "readonly":
      return partsOf(def.innerType, path);
    default:
      return [[schema, path]];
  }
}
