import { z } from "zod";
import { isMapping } from "../domain/json/mapping.ts";
import { editDistance } from "../domain/nearest.ts";
import { describeMistake } from "./issue-sentence.ts";

/** The object behind a schema that may leave it out. */
function objectIn(schema: z.core.$ZodType): z.ZodObject | undefined {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === "optional" || def.type === "default" || def.type === "nullable") return objectIn(def.innerType);
  return schema instanceof z.ZodObject ? schema : undefined;
}

/**
 * An input without the fields that say `null` where a field may be left out and `null` means nothing: many clients write
 * absent values so. Objects that refuse unknown fields are left as they are, because there nothing may pass unseen.
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

/** Whether a field may be absent and takes no `null` of its own. */
function isForgone(field: z.core.$ZodType): boolean {
  return z.safeParse(field, undefined).success && !z.safeParse(field, null).success;
}

/**
 * The first field of an input that its schema does not know where it stands, and that is or reads like one that it knows:
 * at another level, in another case, or a letter away. A bound of a trade must not be passed over.
 */
export function misplacedField(
  schema: z.core.$ZodType,
  value: unknown,
  path = "",
  everywhere: readonly string[] = pathsOf(schema),
): { field: string; meant: string } | undefined {
  const object = objectIn(schema);
  if (!object || !isMapping(value)) return undefined;
  // Those of its own level are meant before others.
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

/** The sentence about a wrong input. Where a field lacks, it names the one that reads like it: `amountUsd` for `amount`. */
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
