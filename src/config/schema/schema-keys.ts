import { Fault } from "../../domain/fault.ts";
import { nearest } from "../../domain/nearest.ts";
import { POLICY_FIELDS, type PolicyField, rowOf } from "../../domain/policy/fields.ts";
import { type FileKind, jsonSchemaOf } from "./file-schemas.ts";
import type { JsonSchema } from "./json-schema.ts";

/** A key of a file that an operator writes. */
export interface FileKey {
  /** The dotted path after the file's name, such as `tenant.policy.feeBps`; `[]` is a list item, `*` any name. */
  path: string;
  /** The type in words with its bounds, such as `integer, 0 to 1000`. */
  type: string;
  description: string;
  /** Undefined if the key has no default. */
  default: unknown;
  examples: readonly unknown[];
  /** Whether the key is required in its mapping. */
  required: boolean;
  /** Which change of the key loosens a limit; undefined if none does. */
  loosens: string | undefined;
  keys: readonly FileKey[];
}

/** The files by the first word of their keys' paths. */
export const FILES: Readonly<Record<string, FileKind>> = {
  tenant: "tenant",
  market: "market",
  case: "case",
  fleet: "fleet",
  pmctl: "operator",
};

/** The root key of a file with all its keys, from its JSON Schema: the source of `pmctl explain` and the reference pages. */
export function keysOf(file: string): FileKey {
  const kind = FILES[file];
  if (kind === undefined) throw unknownKey(file, Object.keys(FILES));
  const keys = made.get(kind) ?? keysOfSchema(jsonSchemaOf(kind), file);
  made.set(kind, keys);
  return keys;
}

const made = new Map<FileKind, FileKey>();

/** All keys of a schema. @param path the prefix of the keys' paths; none if empty */
export function keysOfSchema(schema: JsonSchema, path: string): FileKey {
  return keyOf(schema, schema, { path, required: false, open: [] });
}

/**
 * The key with a dotted path.
 * @throws Fault NOT_FOUND naming the nearest existing key
 */
export function findKey(path: string): FileKey {
  const [file = "", ...names] = path.split(".");
  if (!Object.hasOwn(FILES, file)) throw unknownKey(path, withFile(path) ?? Object.keys(FILES));
  let found = keysOf(file);
  for (const name of names) {
    const inside = found.keys.filter((key) => key.path.startsWith(found.path));
    const next = inside.find((key) => lastName(key.path) === name) ?? inside.find((key) => lastName(key.path) === "*");
    if (!next)
      throw unknownKey(
        `${found.path}.${name}`,
        inside.map((key) => key.path),
      );
    found = next;
  }
  return found;
}

/** The path of every key of a file, as `findKey` takes it. */
export function pathsIn(file: string): string[] {
  const all = ({ path, keys }: FileKey): string[] => [path.replaceAll("[]", ""), ...keys.flatMap(all)];
  return all(keysOf(file));
}

/**
 * The complete path of a key without the word of its file; undefined if its first name is in no file.
 * @throws Fault NOT_FOUND naming the nearest key, if only later names are wrong
 */
function withFile(path: string): [string] | undefined {
  const [name] = path.split(".");
  const file = Object.keys(FILES).find((each) => keysOf(each).keys.some((key) => lastName(key.path) === name));
  return file === undefined ? undefined : [findKey(`${file}.${path}`).path];
}

const lastName = (path: string): string => path.slice(path.lastIndexOf(".") + 1).replace(/(\[\])+$/, "");

function unknownKey(path: string, known: readonly string[]): Fault {
  const meant = known.find((each) => each.endsWith(`.${path}`)) ?? nearest(path, known);
  const hint = meant === undefined ? `there are: ${known.join(", ")}` : `did you mean ${meant}?`;
  return new Fault("NOT_FOUND", `There is no key ${path}; ${hint}`, { detail: { meant } });
}

interface Place {
  path: string;
  required: boolean;
  /** References already followed on this path: a recursive schema ends there. */
  open: readonly string[];
  /** The key above, whose description covers entries with any name. */
  above?: string;
}

function keyOf(root: JsonSchema, stated: JsonSchema, place: Place): FileKey {
  const { path, required, open, above = "" } = place;
  const forms = alternatives(root, stated, open);
  const schemas = forms.map(({ schema }) => schema);
  const isJson = ANY_JSON.every((type) => schemas.some((schema) => schema.type === type));
  const [first = {}] = schemas;
  const described = [stated, ...schemas].find(({ description }) => description !== undefined);
  const field = path.startsWith("tenant.policy.") ? policyField(path.slice("tenant.policy.".length)) : undefined;
  const description = described?.description ?? above;
  const keys = isJson
    ? []
    : distinct(
        forms.map(({ schema, refs }) =>
          childrenOf(root, schema, { path, required, open: [...open, ...refs], above: description }),
        ),
      );
  return {
    path,
    type: isJson ? "any JSON" : [...new Set(schemas.map((schema) => typeOf(root, schema)))].join(" or "),
    description,
    default: stated.default ?? first.default ?? (field && rowOf(field).default),
    examples: stated.examples ?? first.examples ?? [],
    required,
    loosens: field ? looseningOf(field) : (LOOSENING[path] ?? (isSecret(keys) ? "another reference" : undefined)),
    keys,
  };
}

const ANY_JSON = ["string", "number", "boolean", "null", "array", "object"];

/** Changes that a plan calls loosening, for keys outside the policy. */
const LOOSENING: Readonly<Record<string, string>> = {
  "tenant.kyc.required": "false",
  "tenant.keys.admin[].scopes": "a further scope",
  "tenant.keys.admin[].from": "a further network",
  "tenant.keys.public[].from": "a further network",
  "market.state": "open",
};

/** Whether a mapping with these keys is a reference to a secret. */
export function isSecret(keys: readonly FileKey[]): boolean {
  return ["env", "file", "exec", "sops", "path"].every((name) => keys.some(({ path }) => lastName(path) === name));
}

function childrenOf(root: JsonSchema, schema: JsonSchema, { path, open, above = "" }: Place): FileKey[] {
  const { properties = {}, required = [], additionalProperties, items } = schema;
  const named = Object.entries(properties).map(([name, child]) =>
    keyOf(root, child, { path: path === "" ? name : `${path}.${name}`, required: required.includes(name), open }),
  );
  const any =
    typeof additionalProperties === "object"
      ? [keyOf(root, additionalProperties, { path: `${path}.*`, required: false, open, above })]
      : [];
  const item = Array.isArray(items) ? items[0] : items;
  const listed = item ? keyOf(root, item, { path: `${path}[]`, required: false, open }).keys : [];
  return [...named, ...any, ...listed];
}

/** The schemas that describe the value themselves, each with the references that lead to it. */
function alternatives(
  root: JsonSchema,
  schema: JsonSchema,
  open: readonly string[],
): { schema: JsonSchema; refs: string[] }[] {
  const { $ref } = schema;
  if ($ref !== undefined) {
    const target = open.includes($ref) ? undefined : root.definitions?.[$ref.replace("#/definitions/", "")];
    if (!target) return [{ schema: { type: "object" }, refs: [] }];
    return alternatives(root, target, [...open, $ref]).map((form) => ({ ...form, refs: [$ref, ...form.refs] }));
  }
  const branches = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  return branches ? branches.flatMap((branch) => alternatives(root, branch, open)) : [{ schema, refs: [] }];
}

/** The keys of all forms of a value. A key that another form lacks is optional. */
function distinct(forms: readonly FileKey[][]): FileKey[] {
  const mappings = forms.filter((keys) => keys.length > 0);
  const isRequired = (path: string) => mappings.every((keys) => keys.some((key) => key.path === path && key.required));
  return [...Map.groupBy(mappings.flat(), ({ path }) => path)].flatMap(([path, [first, ...others]]) =>
    first ? [{ ...others.reduce(merged, first), required: isRequired(path) }] : [],
  );
}

/** Merges a key that two forms of a value share. */
function merged(one: FileKey, other: FileKey): FileKey {
  const both = (text: (key: FileKey) => string, between: string) => [...new Set([one, other].map(text))].join(between);
  return { ...one, type: both(({ type }) => type, " or "), description: both(({ description }) => description, " ") };
}

/** The type of a list's items in words. */
function typeOfItems(root: JsonSchema, items: JsonSchema): string {
  const types = alternatives(root, items, []).map(({ schema }) => schema.type ?? "value");
  return [...new Set(types)].map((type) => (type === "object" ? "mappings" : `${type}s`)).join(" or ");
}

function typeOf(root: JsonSchema, schema: JsonSchema): string {
  const { type = "any", const: only, enum: values, items, minimum, maximum, exclusiveMinimum } = schema;
  if (only !== undefined) return JSON.stringify(only);
  if (values) return values.map((value) => String(value)).join(" | ");
  if (type === "array") {
    const of = Array.isArray(items) ? items[0] : items;
    return of === undefined ? "list" : `list of ${typeOfItems(root, of)}`;
  }
  if (type === "object") return "mapping";
  const least = exclusiveMinimum === undefined ? minimum : `more than ${exclusiveMinimum}`;
  const isBounded = (bound: unknown) => bound !== undefined && Math.abs(Number(bound)) !== Number.MAX_SAFE_INTEGER;
  if (typeof least === "string") return `${type}, ${least}${isBounded(maximum) ? `, at most ${maximum}` : ""}`;
  if (isBounded(least) && isBounded(maximum)) return `${type}, ${least} to ${maximum}`;
  if (isBounded(least)) return `${type}, at least ${least}`;
  return isBounded(maximum) ? `${type}, at most ${maximum}` : type;
}

function policyField(name: string): PolicyField | undefined {
  return POLICY_FIELDS.find((field) => field === name);
}

/** The direction in which a policy field loosens, according to its own rule. */
function looseningOf(field: PolicyField): string | undefined {
  const row = rowOf(field);
  if (row.kind === "integer" || row.kind === "usd") {
    if (row.direction(1, 2) === "loosens") return "a higher value";
    return row.direction(2, 1) === "loosens" ? "a lower value" : undefined;
  }
  if (row.kind === "flag") return row.direction(true, false) === "loosens" ? "false" : "true";
  if (row.kind === "countries")
    return row.direction(["US"], []) === "loosens" ? "a list that admits more places" : undefined;
  if (row.kind === "address")
    return row.direction(null, "https://oracle.example") === "loosens" ? "any address" : undefined;
  return "a higher cap";
}
