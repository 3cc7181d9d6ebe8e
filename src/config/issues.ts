import type { z } from "zod";
import { nearest } from "../domain/nearest.ts";
import { DIAGNOSTIC_CODES, type DiagnosticCode, type Finding, type Path } from "./config-error.ts";
import { isAnchorPlace } from "./schema/audit-schema.ts";
import { LITERAL } from "./schema/scalars.ts";
import type { SchemaGuide } from "./schema/schema-guide.ts";

type Issue = z.core.$ZodIssue;

const NAMES: Readonly<Record<string, string>> = {
  array: "a list",
  boolean: "true or false",
  int: "a whole number",
  number: "a number",
  object: "a mapping (key: value)",
  record: "a mapping (key: value)",
  tuple: "a list",
};

/**
 * A value decoded by a schema, or what is wrong with it as sentences about places.
 *
 * @param at.root the whole document
 * @param at.base where in the document the value stands
 */
export function decode<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  { guide, root = value, base = [] }: { guide: SchemaGuide; root?: unknown; base?: Path },
): { data: z.output<Schema>; findings?: undefined } | { data?: undefined; findings: Finding[] } {
  const parsed = schema.safeParse(value, { error: sentenceFor });
  if (parsed.success) return { data: parsed.data };
  return { findings: parsed.error.issues.flatMap((issue) => findingsOf(issue, base, root, guide)) };
}

/** The sentence for an issue whose schema has none of its own. */
function sentenceFor(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined) return "is required";
      if (issue.expected === "string")
        return typeof issue.input === "object" ? "must be a text" : "must be a text: put it in quotes";
      return `must be ${NAMES[issue.expected] ?? issue.expected}`;
    case "too_big":
      return `must ${extent(issue.origin)} ${issue.inclusive === false ? "less than" : "at most"} ${issue.maximum}${unit(issue.origin, issue.maximum)}`;
    case "too_small":
      return `must ${extent(issue.origin)} ${issue.inclusive === false ? "more than" : "at least"} ${issue.minimum}${unit(issue.origin, issue.minimum)}`;
    case "invalid_value":
      return oneOf(issue.values, issue.input);
    case "invalid_union":
      return "options" in issue && Array.isArray(issue.options)
        ? oneOf(issue.options, undefined)
        : "is not possible here";
    default:
      return undefined;
  }
}

/** What is wrong at the place of an issue, with the value where it may be shown. */
function findingsOf(issue: Issue, base: Path, root: unknown, guide: SchemaGuide): Finding[] {
  const path = [...base, ...issue.path.map((step) => (typeof step === "symbol" ? String(step) : step))];
  const value = valueAt(root, path);
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => {
      const known = guide.knownKeys(path);
      const meant = known.includes(key) ? undefined : nearest(key, known);
      const message = misplacedKey(key, path, value, known);
      return { path: [...path, key], message, atKey: true, code: "UNKNOWN_KEY", meant };
    });
  if (issue.code === "invalid_key")
    return [{ path, message: issue.issues[0]?.message ?? "is not a possible name", atKey: true }];
  if (issue.code === "invalid_union") {
    const branch = likeliestBranch(issue.errors, value);
    if (branch) return branch.flatMap((inner) => findingsOf(inner, path, root, guide));
  }
  const code = codeOf(issue, value);
  // A sentence about a country holds its code.
  const message = code === "UNKNOWN_COUNTRY" ? issue.message : `${issue.message}${got(path, value, guide)}`;
  return [{ path, message, code, meant: meantBy(issue, value) }];
}

/** The kind of mistake that an issue is; a check of our own may name it in its `params`. */
function codeOf(issue: Issue, value: unknown): DiagnosticCode {
  switch (issue.code) {
    case "invalid_type":
      return value === undefined ? "REQUIRED" : "WRONG_TYPE";
    case "too_big":
    case "too_small":
      return "OUT_OF_RANGE";
    case "invalid_value":
      return value === undefined ? "REQUIRED" : "NOT_ONE_OF";
    case "invalid_union":
      if (value === undefined) return "REQUIRED";
      return issue.message === LITERAL ? "LITERAL_SECRET" : "NOT_ONE_OF";
    case "custom":
      return DIAGNOSTIC_CODES.find((code) => code === issue.params?.code) ?? "INVALID_VALUE";
    default:
      return "INVALID_VALUE";
  }
}

function meantBy(issue: Issue, value: unknown): string | undefined {
  if (issue.code === "custom" && typeof issue.params?.meant === "string") return issue.params.meant;
  if (issue.code !== "invalid_value" || typeof value !== "string") return undefined;
  return nearest(value, issue.values.map(String));
}

/**
 * The branch of a union that the writer probably meant: for a mapping the one with the fewest issues, for a scalar the
 * first that accepts its type. Undefined where the union's own sentence says more.
 */
function likeliestBranch(branches: readonly (readonly Issue[])[], value: unknown): readonly Issue[] | undefined {
  const fitting = branches.filter(
    (issues) => !issues.some(({ code, path }) => code === "invalid_type" && path.length === 0),
  );
  if (typeof value !== "object" || value === null) return fitting.find((issues) => issues[0]?.code !== "invalid_value");
  // A branch of one literal, such as `embedded`, has a single issue with every mapping.
  const mappings = fitting.filter(
    (issues) => !issues.some(({ code, path }) => code === "invalid_value" && path.length === 0),
  );
  return mappings.toSorted((a, b) => a.length - b.length)[0];
}

/** A key that is known here may still belong to another kind of mapping than the keys beside it. */
function misplacedKey(key: string, path: Path, value: unknown, known: readonly string[]): string {
  if (!known.includes(key)) return unknownKey(key, known);
  const beside = Object.keys(value ?? {}).filter((each) => each !== key);
  const kinds = isAnchorPlace(path) ? "a target is one of file, exec, url" : `known here: ${known.join(", ")}`;
  return `does not go with ${beside.join(" and ")}; ${kinds}`;
}

function unknownKey(key: string, known: readonly string[]): string {
  const meant = nearest(key, known);
  if (meant !== undefined) return `unknown key; did you mean "${meant}"?`;
  return known.length > 0 ? `unknown key; known here: ${known.join(", ")}` : "unknown key";
}

function got(path: Path, value: unknown, guide: SchemaGuide): string {
  if (value === undefined) return "";
  if (value === null) return " (got nothing)";
  if (typeof value === "object") return ` (got a ${Array.isArray(value) ? "list" : "mapping"})`;
  if (!guide.mayShowValue(path, value)) return "";
  if (typeof value !== "string") return ` (got ${value})`;
  return value.length > 60 ? ` (got ${value.length} characters)` : ` (got ${JSON.stringify(value)})`;
}

function oneOf(values: readonly unknown[], input: unknown): string {
  if (input === undefined && values.length === 1) return "is required";
  const texts = values.map(String);
  const meant = typeof input === "string" ? nearest(input, texts) : undefined;
  const list = texts.length === 1 ? `must be ${texts[0]}` : `must be one of ${texts.join(", ")}`;
  return meant === undefined ? list : `${list}; did you mean "${meant}"?`;
}

function extent(origin: string): string {
  return origin === "string" || origin === "array" ? "have" : "be";
}

function unit(origin: string, count: number | bigint): string {
  const plural = Number(count) === 1 ? "" : "s";
  if (origin === "string") return ` character${plural}`;
  return origin === "array" ? ` entr${plural ? "ies" : "y"}` : "";
}

function valueAt(root: unknown, path: Path): unknown {
  let value = root;
  for (const step of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}
