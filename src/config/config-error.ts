import { Fault } from "../domain/fault.ts";

/** Where a value is in a document: property names and list indexes from the root. */
export type Path = readonly (string | number)[];

/** Line and column, both counted from 1. */
export interface Position {
  line: number;
  column: number;
}

/** The kinds of mistakes in a file, for programs. */
export const DIAGNOSTIC_CODES = [
  "UNKNOWN_KEY",
  "DUPLICATE_KEY",
  "REQUIRED",
  "WRONG_TYPE",
  "OUT_OF_RANGE",
  "NOT_ONE_OF",
  "INVALID_VALUE",
  "UNKNOWN_COUNTRY",
  "UNKNOWN_FEED",
  "LITERAL_SECRET",
  "MISSING_SECRET",
  "YAML_SYNTAX",
  "CONFLICT",
  "LOW_CONTRAST",
  "RULE_INVALID",
  "RULE_DENIED",
  "RULE_WARNED",
] as const;
export type DiagnosticCode = (typeof DIAGNOSTIC_CODES)[number];

/** Something wrong at a place of a document, before it has a line and a column. */
export interface Finding {
  path: Path;
  message: string;
  /** Points at the key instead of the value, such as for an unknown key. */
  atKey?: boolean;
  /** `INVALID_VALUE` unless given. */
  code?: DiagnosticCode | undefined;
  /** The text that was probably meant, in place of what stands there. */
  meant?: string | undefined;
  /** `error` unless given. */
  severity?: Problem["severity"] | undefined;
}

/** From where to where something stands, the end excluded. */
export interface Extent extends Position {
  endLine: number;
  endColumn: number;
}

/** One thing that is wrong in a file, as data for programs too. Neither message nor frame ever holds a secret. */
export interface Problem extends Extent {
  /** As the operator would type it. */
  file: string;
  /** Dotted, such as `keys.admin[0].name`; empty for the document itself. */
  path: string;
  code: DiagnosticCode;
  severity: "error" | "warning";
  message: string;
  /** What may stand from the position to the end instead; null where that is not known. */
  fix: string | null;
  /** The lines around it with a caret; empty when there is no text to show. */
  frame: string;
}

/** More would scroll the first one away; `problems` has them all. */
const MAX_SHOWN = 50;

/** A file that cannot be used. The message is the whole text for a person, `problems` the same for a program. */
export class ConfigError extends Fault {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    const sorted = inOrder(problems);
    super("CONFIG_INVALID", describeProblems(sorted), { detail: { problems: problems.length } });
    this.name = "ConfigError";
    this.problems = sorted;
  }
}

/** By file and place, each once: several files may extend one base. */
export function inOrder(problems: readonly Problem[]): Problem[] {
  const distinct = new Map(problems.map((each) => [JSON.stringify(each), each]));
  return [...distinct.values()].toSorted(
    (a, b) => a.file.localeCompare(b.file) || a.line - b.line || a.column - b.column,
  );
}

/** A problem of a file as a whole: it is missing, too large, no text. */
export function fileProblem(file: string, message: string, code: DiagnosticCode = "INVALID_VALUE"): Problem {
  const position = { line: 1, column: 1, endLine: 1, endColumn: 1 };
  return { file, ...position, path: "", code, severity: "error", message, fix: null, frame: "" };
}

/** `["keys", "admin", 0]` as `keys.admin[0]`. */
export function formatPath(path: Path): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === "number") return `${text}[${step}]`;
    return text === "" ? step : `${text}.${step}`;
  }, "");
}

/** Of more problems of a kind in a file, such as variables that are not set, each takes one line and none a frame. */
const MAX_FRAMED = 2;

/** In the order of their places; a problem with a frame has an empty line before and behind it. */
function describeProblems(problems: readonly Problem[]): string {
  const shown = problems.slice(0, MAX_SHOWN);
  const kindOf = ({ file, code }: Problem) => `${code} ${file}`;
  const kinds = Map.groupBy(shown, kindOf);
  const texts = shown.map((problem) => {
    const isOneOfMany = (kinds.get(kindOf(problem)) ?? []).length > MAX_FRAMED;
    return isOneOfMany ? headlineOf(problem) : `\n${describeProblem(problem)}\n`;
  });
  if (problems.length > MAX_SHOWN) texts.push(`\n... and ${problems.length - MAX_SHOWN} more problems`);
  return texts.join("\n").replaceAll("\n\n\n", "\n\n").trim();
}

function describeProblem(problem: Problem): string {
  return problem.frame === "" ? headlineOf(problem) : `${headlineOf(problem)}\n${problem.frame}`;
}

/** A problem in one line: its place, its path and what it is. */
export function headlineOf({ file, line, column, path, message }: Problem): string {
  return [`${file}:${line}:${column}`, path, message].filter((part) => part !== "").join("  ");
}

/** Undefined for a tenant file with problems, which `validate` reports. */
export function unlessUnsound<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}
