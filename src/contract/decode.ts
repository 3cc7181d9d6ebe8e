import { z } from "zod";
import { isMapping } from "../domain/json/mapping.ts";
import { editDistance } from "../domain/nearest.ts";
import { describeMistake } from "./issue-sentence.ts";

/** The object schema inside an optional, defaulted or nullable schema. */
function objectIn(schema: z.core.$ZodType): z.ZodObject | undefined {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === "optional" || def.type === "default" || def.type === "nullable") return objectIn(def.innerType);
  return schema instanceof z.ZodObject ? schema : undefined;
}

/**
 * An input without its `null` fields, where a field is optional and its schema gives `null` no meaning: many clients
 * send `null` for an absent value. Objects that refuse unknown fields keep their nulls, so that every field is checked.
 */
export function withoutNulls(schema: z.core.$ZodType, value: unknown): unknown {
  const object = objectIn(schema);
  if (!object || !isMapping(value) || object.def.catchall instanceof z.ZodNever) return value;
  let kept = value;
  for (const [name, field] of Object.entries(object.shape)) {
    const given = value[name];
    const next = given === null && isForgone(field) ? undefined : withoutNulls(field, given);
    if (next !== given) kept = { ...kept, [name]: next };
  }
  return kept;
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
  everywhere: readonly string[] = pathsOf(schema),
): { field: string; meant: string } | undefined {
  const object = objectIn(schema);
  if (!object || !isMapping(value)) return undefined;
  // Fields of the same level are tried before all others.
  const known = [...Object.keys(object.shape).map((name) => path + name), ...everywhere];
  for (const [name, given] of Object.entries(value)) {
    const field = object.shape[name];
    if (field && Object.hasOwn(object.shape, name)) {
      const within = misplacedField(field, given, `${path}${name}.`, everywhere);
      if (within) return within;
      continue;
    }
    const meant = known.find((each) => editDistance(plain(name), plain(each.slice(each.lastIndexOf(".") + 1))) <= 1);
    if (meant !== undefined) return { field: `${path}${name}`.slice(0, 200), meant };
  }
  return undefined;
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
