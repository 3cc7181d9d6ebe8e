import type { z } from "zod";
import { nearest } from "../domain/nearest.ts";

type Issue = z.core.$ZodIssue;
type RawIssue = z.core.$ZodRawIssue;

/** Callers choose the names of fields and their length. */
const MAX_SHOWN = 200;

/** What the types of a schema are called. */
const NAMES: Readonly<Record<string, string>> = {
  array: "a list",
  boolean: "true or false",
  int: "a whole number",
  null: "null",
  number: "a number",
  object: "an object",
  record: "an object",
  string: "a text",
  tuple: "a list",
};

/** The types that a YAML file names otherwise than JSON does. */
const YAML_NAMES = { null: "nothing", object: "a mapping (key: value)", record: "a mapping (key: value)" };

/**
 * The sentence about a wrong value in a JSON document, to follow the field's name ("amount ..."), for schemas without a
 * message of their own. The same mistake has the same wording in every schema.
 */
export const jsonSentence = sentencesWith(NAMES);

/** As {@link jsonSentence}, for values of YAML files. */
export const yamlSentence = sentencesWith({ ...NAMES, ...YAML_NAMES });

/** Keeps one issue for each place of a document: the narrowest of several bounds, else the first issue. */
export function onePerPlace(issues: readonly Issue[]): Issue[] {
  const kept = new Map<string, Issue>();
  for (const issue of issues) {
    const place = JSON.stringify([issue.code === "unrecognized_keys", ...issue.path.map(String)]);
    const known = kept.get(place);
    const isNarrower = known?.code === "too_big" && issue.code === "too_big" && issue.maximum < known.maximum;
    if (!known || isNarrower) kept.set(place, issue);
  }
  return [...kept.values()];
}

/** "selection.side: must be one of yes, no": the field first, so that a caller knows where to look. Values are not echoed. */
export function describeMistake({ issues }: { issues: readonly Issue[] }): string {
  const [issue] = onePerPlace(issues);
  if (!issue) return "The request is not valid";
  const path = issue.path.join(".").slice(0, MAX_SHOWN);
  if (issue.code === "unrecognized_keys") {
    const keys = issue.keys.map((key) => [...issue.path, key].join(".")).join(", ");
    return `Unknown field: ${keys.slice(0, MAX_SHOWN)}`;
  }
  return path === "" ? issue.message : `${path}: ${issue.message}`;
}

/** Whether a required value is missing. */
export function isMissing(issue: Issue | RawIssue, value: unknown): boolean {
  return value === undefined && ["invalid_type", "invalid_value", "invalid_union"].includes(issue.code);
}

/** A schema's own sentence about a wrong value; a missing one has the sentence of every schema. */
export function unlessMissing(sentence: string): { error: (issue: RawIssue) => string | undefined } {
  return { error: (issue) => (isMissing(issue, issue.input) ? undefined : sentence) };
}

function sentencesWith(names: Readonly<Record<string, string>>) {
  return (issue: RawIssue): string => {
    switch (issue.code) {
      case "invalid_type":
        if (issue.input === undefined) return "is required";
        return typeof issue.input !== "object" && issue.expected === "string"
          ? "must be a text: put it in quotes"
          : `must be ${names[issue.expected] ?? issue.expected}`;
      case "too_big":
        return `must ${extent(issue.origin)} ${issue.inclusive === false ? "less than" : "at most"} ${issue.maximum}${unit(issue.origin, issue.maximum)}`;
      case "too_small":
        return `must ${extent(issue.origin)} ${issue.inclusive === false ? "more than" : "at least"} ${issue.minimum}${unit(issue.origin, issue.minimum)}`;
      case "invalid_value":
        return oneOf(issue.values, issue.input);
      case "invalid_union":
        if (issue.input === undefined) return "is required";
        return issue.discriminator === undefined
          ? `must be ${alternatives(issue.errors, names)}`
          : oneOf(optionsOf(issue), memberOf(issue.input, issue.discriminator));
      case "invalid_key":
        return issue.issues[0]?.message ?? "is not a possible name";
      default:
        return "is not valid";
    }
  };
}

function optionsOf(issue: RawIssue): readonly unknown[] {
  return "options" in issue && Array.isArray(issue.options) ? issue.options : [];
}

function memberOf(input: unknown, name: string): unknown {
  return typeof input === "object" && input !== null ? Object.entries(input).find(([key]) => key === name)?.[1] : input;
}

/** What the branches of a union accept, read from each branch's issue about the value itself. */
function alternatives(branches: readonly (readonly Issue[])[], names: Readonly<Record<string, string>>): string {
  const own = branches.map((issues) => issues.find(({ path }) => path.length === 0));
  const taken = own.flatMap((issue) => {
    if (issue?.code === "invalid_type") return [names[issue.expected] ?? issue.expected];
    return issue?.code === "invalid_value" ? issue.values.map(String).filter(Boolean) : [];
  });
  return taken.length === 0 ? "written in another form" : listed([...new Set(taken)]);
}

function listed(words: readonly string[]): string {
  return words.length === 1 ? String(words[0]) : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

function oneOf(values: readonly unknown[], input: unknown): string {
  const texts = values.map(String);
  const list = texts.length === 1 ? texts.join() : `one of ${texts.join(", ")}`;
  if (input === undefined) return texts.length === 1 ? "is required" : `is required: ${list}`;
  if (typeof input === "string" && !values.includes(input) && texts.includes(input))
    return `must be ${list}, without quotes`;
  const meant = typeof input === "string" && texts.length > 1 ? nearest(input, texts) : undefined;
  return meant === undefined ? `must be ${list}` : `must be ${list}; did you mean "${meant}"?`;
}

function extent(origin: string): string {
  return origin === "string" || origin === "array" ? "have" : "be";
}

function unit(origin: string, count: number | bigint): string {
  const plural = Number(count) === 1 ? "" : "s";
  if (origin === "string") return ` character${plural}`;
  return origin === "array" ? ` entr${plural ? "ies" : "y"}` : "";
}
