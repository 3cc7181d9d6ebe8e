import type { JsonSchema } from "../../src/config/schema/json-schema.ts";

type Path = readonly (string | number)[];

/** One value of each kind of mistake: most of them are wrong wherever they stand. */
const MISTAKES: readonly unknown[] = [
  null,
  "",
  "€\u0001",
  "a".repeat(3000),
  -1,
  1e12,
  1e300,
  [],
  { nonsense: 1 },
  Array.from({ length: 6 }, (_, index) => index),
];

/** Documents with one mistake each, at every place that a JSON Schema names, and the place. */
export function* documentsWithOneMistake(schema: JsonSchema): Generator<{ path: Path; document: unknown }> {
  const paths = new Map(placesOf(schema, schema, []).map((path) => [JSON.stringify(path), path]));
  for (const path of paths.values())
    for (const mistake of MISTAKES) yield { path, document: documentWith(path, mistake) };
}

function placesOf(schema: JsonSchema, root: JsonSchema, path: Path): Path[] {
  const target = schema.$ref === undefined ? schema : root.definitions?.[schema.$ref.replace("#/definitions/", "")];
  // Schemas of any JSON value contain themselves.
  if (!target || path.length > 7) return [];
  const branches = [...(target.anyOf ?? []), ...(target.oneOf ?? []), ...(target.allOf ?? [])];
  const others = typeof target.additionalProperties === "object" ? { "some-name": target.additionalProperties } : {};
  const members = Object.entries({ ...target.properties, ...others });
  const item = Array.isArray(target.items) ? target.items[0] : target.items;
  return [
    path,
    ...branches.flatMap((branch) => placesOf(branch, root, path)),
    ...members.flatMap(([name, member]) => placesOf(member, root, [...path, name])),
    ...(item ? placesOf(item, root, [...path, 0]) : []),
  ];
}

function documentWith([step, ...rest]: Path, value: unknown): unknown {
  if (step === undefined) return value;
  return typeof step === "number" ? [documentWith(rest, value)] : { [step]: documentWith(rest, value) };
}
