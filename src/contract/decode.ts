import { z } from "zod";
import { isMapping } from "../domain/json/mapping.ts";
import { editDistance } from "../domain/nearest.ts";
import { describeMistake } from "./issue-sentence.ts";

/** The object schema inside an optional, defaulted or nullable schema. */
function objectIn(schema: z.core.$ZodType): z.ZodObject | undefined {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === "optional" || def.type === "default" || def.type === "nullable") return objectIn(def.innerType);
  // `instanceof` would search the schema's traits, for every field of every request.
  return def.type === "object" ? (schema as z.ZodObject) : undefined;
}

/**
 * An input without its `null` fields, where a field is optional and its schema gives `null` no meaning: many clients
 * send `null` for an absent value. Objects that refuse unknown fields keep their nulls, so that every field is checked.
 */
export function withoutNulls(schema: z.core.$ZodType, value: unknown): unknown {
  if (!isMapping(value)) return value;
  const object = objectIn(schema);
  if (!object || object.def.catchall?._zod.def.type === "never") return value;
  let kept = value;
  for (const name in value) {
    const given = value[name];
    const field = fieldOf(object, name);
    if (!field || typeof given !== "object") continue;
    const next = given === null && isForgone(field) ? undefined : withoutNulls(field, given);
    if (next !== given) kept = { ...kept, [name]: next };
  }
  return kept;
}

function fieldOf({ shape }: z.ZodObject, name: string): z.core.$ZodType | undefined {
  return Object.hasOwn(shape, name) ? shape[name] : undefined;
}

/** Whether a field may be absent and does not accept `null`. */
function isForgone(field: z.core.$ZodType): boolean {
  return z.safeParse(field, undefined).success && !z.safeParse(field, null).success;
}

/**
 * The first unknown field of an input that resembles a field of the schema: the same name at another level, in another
 * case, or with one letter changed. The caller meant it, such as a bound of a trade, so it must not be ignored.
 */
export function misplacedField(
  schema: z.core.$ZodType,
  value: unknown,
  path = "",
  root = schema,
): { field: string; meant: string } | undefined {
  if (!isMapping(value)) return undefined;
  const object = objectIn(schema);
  if (!object) return undefined;
  for (const name in value) {
    const given = value[name];
    const field = fieldOf(object, name);
    // The path is built for objects alone: any other value has no fields.
    const misplaced = !field
      ? resembling(name, object, path, root)
      : isMapping(given)
        ? misplacedField(field, given, `${path}${name}.`, root)
        : undefined;
    if (misplaced) return misplaced;
  }
  return undefined;
}

function resembling(
  name: string,
  { shape }: z.ZodObject,
  path: string,
  root: z.core.$ZodType,
): { field: string; meant: string } | undefined {
  // Fields of the same level are tried before all others.
  const known = [...Object.keys(shape).map((field) => path + field), ...pathsOf(root)];
  const meant = known.find((each) => editDistance(plain(name), plain(each.slice(each.lastIndexOf(".") + 1))) <= 1);
  return meant === undefined ? undefined : { field: `${path}${name}`.slice(0, 200), meant };
}

/** The fields of a schema at all its levels, as `selection.side`. */
function pathsOf(schema: z.core.$ZodType, path = ""): string[] {
  const fields = Object.entries(objectIn(schema)?.shape ?? {});
  return fields.flatMap(([name, field]) => [path + name, ...pathsOf(field, `${path}${name}.`)]);
}

/**
 * Describes what is wrong with an input. For a missing field it names a similar unknown one: `amountUsd` for `amount`.
 */
export function mistakeIn(schema: z.core.$ZodType, value: unknown, error: z.ZodError): string {
  const said = describeMistake(error);
  const shape = objectIn(schema)?.shape;
  const lacking = Object.keys(shape ?? {}).find((name) => said === `${name}: is required`);
  if (!shape || lacking === undefined || !isMapping(value)) return said;
  const given = Object.keys(value).find((name) => !Object.hasOwn(shape, name) && readsLike(name, lacking));
  return given === undefined ? said : `${given.slice(0, 200)}: is unknown; did you mean ${lacking}?`;
}

function readsLike(name: string, other: string): boolean {
  const [one, another] = [name, other].map((each) => plain(each).replace(/usd$/, ""));
  return editDistance(one ?? "", another ?? "") <= 1;
}

const plain = (name: string) => name.slice(0, 64).toLowerCase().replaceAll(/[-_]/g, "");
