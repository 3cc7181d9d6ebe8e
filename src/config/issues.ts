import type { z } from "zod";
import { isMissing, onePerPlace, yamlSentence } from "../contract/issue-sentence.ts";
import { nearest } from "../domain/nearest.ts";
import { DIAGNOSTIC_CODES, type DiagnosticCode, type Finding, formatPath, type Path } from "./config-error.ts";
import { isAnchorPlace } from "./schema/anchor-places.ts";
import { LITERAL } from "./schema/scalars.ts";
import type { SchemaGuide } from "./schema/schema-guide.ts";

type Issue = z.core.$ZodIssue;

/**
 * A value decoded by a schema, or its mistakes as sentences with places.
 *
 * @param at.root the whole document
 * @param at.base the place of the value in the document
 */
export function decode<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  { guide, root = value, base = [] }: { guide: SchemaGuide; root?: unknown; base?: Path },
): { data: z.output<Schema>; findings?: undefined } | { data?: undefined; findings: Finding[] } {
  const parsed = schema.safeParse(value, { error: yamlSentence });
  if (parsed.success) return { data: parsed.data };
  const findings = onePerPlace(parsed.error.issues).flatMap((issue) => findingsOf(issue, base, root, guide));
  return { findings: withoutRenamed(findings) };
}

/** For a misspelled required key, keeps only the misspelling: correcting it also supplies the missing key. */
function withoutRenamed(findings: readonly Finding[]): Finding[] {
  const mended = findings.flatMap(({ code, path, meant }) => {
    if (code !== "UNKNOWN_KEY" || meant === undefined) return [];
    const mapping = path.slice(0, -1);
    return [mapping, [...mapping, meant]].map(formatPath);
  });
  return findings.filter(({ code, path }) => code !== "REQUIRED" || !mended.includes(formatPath(path)));
}

/** The mistakes of an issue, with the value if it may be shown. */
function findingsOf(issue: Issue, base: Path, root: unknown, guide: SchemaGuide): Finding[] {
  const path = [...base, ...issue.path.map((step) => (typeof step === "symbol" ? String(step) : step))];
  const value = valueAt(root, path);
  if (issue.code === "unrecognized_keys") {
    const known = guide.knownKeys(path);
    return issue.keys.map((key) => {
      const at = { path: [...path, key], atKey: true, code: "UNKNOWN_KEY" } as const;
      if (known.includes(key)) return { ...at, message: misplacedKey(key, path, value, guide) };
      const near = nearest(key, known);
      const message = unknownKey(known, near, guide.mayShowKey(path, key));
      // If the mapping already contains the suggested key, replacing this key would repeat it.
      return { ...at, message, meant: near !== undefined && Object.hasOwn(Object(value), near) ? undefined : near };
    });
  }
  if (issue.code === "invalid_key") return [{ path, message: issue.message, atKey: true }];
  if (issue.code === "invalid_union") {
    const branch = likeliestBranch(issue.errors, value);
    if (branch) return onePerPlace(branch).flatMap((inner) => findingsOf(inner, path, root, guide));
  }
  const code = codeOf(issue, value);
  // The sentence about a country contains its code.
  const message = code === "UNKNOWN_COUNTRY" ? issue.message : `${issue.message}${got(path, value, guide)}`;
  return [{ path, message, code, meant: meantBy(issue, value) }];
}

/** The kind of mistake of an issue; our own checks may name it in their `params`. */
function codeOf(issue: Issue, value: unknown): DiagnosticCode {
  if (isMissing(issue, value)) return "REQUIRED";
  switch (issue.code) {
    case "invalid_type":
      return "WRONG_TYPE";
    case "too_big":
    case "too_small":
      return "OUT_OF_RANGE";
    case "invalid_value":
      return "NOT_ONE_OF";
    case "invalid_union":
      if (issue.message === LITERAL) return "LITERAL_SECRET";
      return issue.discriminator === undefined ? "WRONG_TYPE" : "NOT_ONE_OF";
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
 * The branch of a union that the writer probably meant. For a mapping: the branch with the fewest unknown keys, then with the
 * fewest issues. For a scalar: the first branch that accepts its type. Undefined if the union's own sentence is clearer.
 */
function likeliestBranch(branches: readonly (readonly Issue[])[], value: unknown): readonly Issue[] | undefined {
  const fitting = branches.filter(
    (issues) => !issues.some(({ code, path }) => code === "invalid_type" && path.length === 0),
  );
  if (typeof value !== "object" || value === null) return fitting.find((issues) => issues[0]?.code !== "invalid_value");
  // A branch with one literal, such as `embedded`, has a single issue for every mapping.
  const mappings = fitting.filter(
    (issues) => !issues.some(({ code, path }) => code === "invalid_value" && path.length === 0),
  );
  return mappings.toSorted((a, b) => strangers(a) - strangers(b) || a.length - b.length)[0];
}

/** The number of keys that a branch does not know. */
function strangers(issues: readonly Issue[]): number {
  return issues.reduce((sum, issue) => sum + (issue.code === "unrecognized_keys" ? issue.keys.length : 0), 0);
}

/** The message for a key that is possible at this place, but not with the other keys or their values. */
function misplacedKey(key: string, path: Path, value: unknown, guide: SchemaGuide): string {
  const clashes = Object.entries(value ?? {}).flatMap(([name, other]) => {
    const kind = name === key ? undefined : guide.clash(path, key, [name, other]);
    const shown = kind === "value" && guide.mayShowValue([...path, name], other) ? `${name}: ${other}` : name;
    return kind === undefined ? [] : [{ kind, shown }];
  });
  // The deciding value of a mapping, such as its algorithm, explains more than its other keys.
  const decisive = clashes.filter(({ kind }) => kind === "value");
  const rivals = decisive.length > 0 ? decisive : clashes;
  const kinds = isAnchorPlace(path) ? "; a target is one of file, exec, url" : "";
  if (rivals.length === 0) return `is not allowed here${kinds}`;
  return `does not go with ${rivals.map(({ shown }) => shown).join(" and ")}${kinds}`;
}

/** The sentence follows the path of the key, or of its mapping if the key may not be shown. */
function unknownKey(known: readonly string[], meant: string | undefined, isShown: boolean): string {
  const unknown = isShown ? "unknown key" : "contains an unknown key";
  if (meant !== undefined) return `${unknown}; did you mean "${meant}"?`;
  return known.length > 0 ? `${unknown}; known here: ${known.join(", ")}` : unknown;
}

function got(path: Path, value: unknown, guide: SchemaGuide): string {
  if (value === undefined) return "";
  if (value === null) return " (got nothing)";
  if (typeof value === "object") return ` (got a ${Array.isArray(value) ? "list" : "mapping"})`;
  if (!guide.mayShowValue(path, value)) return "";
  if (typeof value !== "string") return ` (got ${value})`;
  return value.length > 60 ? ` (got ${value.length} characters)` : ` (got ${JSON.stringify(value)})`;
}

function valueAt(root: unknown, path: Path): unknown {
  let value = root;
  for (const step of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}
