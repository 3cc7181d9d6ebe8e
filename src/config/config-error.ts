import { Fault } from "../domain/fault.ts";
import { counted } from "../domain/text.ts";

/** The place of a value in a document: property names and list indexes from the root. */
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

/** A mistake at a place of a document, before its line and column are known. */
export interface Finding {
  path: Path;
  message: string;
  /** Points at the key instead of the value, for example for an unknown key. */
  atKey?: boolean;
  /** `INVALID_VALUE` by default. */
  code?: DiagnosticCode | undefined;
  /** The text that the writer probably meant. */
  meant?: string | undefined;
  /** `error` by default. */
  severity?: Problem["severity"] | undefined;
}

/** The start and end of a text, the end excluded. */
export interface Extent extends Position {
  endLine: number;
  endColumn: number;
}

/** One mistake in a file, as data for programs too. Neither message nor frame ever contains a secret. */
export interface Problem extends Extent {
  /** The file as the operator would type it. */
  file: string;
  /** The dotted path, such as `keys.admin[0].name`; empty for the whole document. */
  path: string;
  code: DiagnosticCode;
  severity: "error" | "warning";
  message: string;
  /** The text that can replace the extent; null if unknown. */
  fix: string | null;
  /** The surrounding lines with a caret; empty if there is no text to show. */
  frame: string;
}

/** More would scroll the first problem away; `problems` has them all. */
const MAX_SHOWN = 50;

/** An unusable file. The message is the whole text for people; `problems` is the same for programs. */
export class ConfigError extends Fault {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    const sorted = inOrder(problems);
    super("CONFIG_INVALID", describeProblems(sorted), { detail: { problems: problems.length } });
    this.name = "ConfigError";
    this.problems = sorted;
  }
}

/** Sorted by file and place, without repeats: several files may extend one base. */
export function inOrder(problems: readonly Problem[]): Problem[] {
  const distinct = new Map(problems.map((each) => [JSON.stringify(each), each]));
  return [...distinct.values()].toSorted(
    (a, b) => a.file.localeCompare(b.file) || a.line - b.line || a.column - b.column,
  );
}

/** A problem of a whole file, such as a missing or too large file. */
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

/** If a file has more problems of one kind, such as unset variables, each gets one line without a frame. */
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
  if (problems.length > MAX_SHOWN) texts.push(`\n... and ${counted(problems.length - MAX_SHOWN, "more problem")}`);
  return texts.join("\n").replaceAll("\n\n\n", "\n\n").trim();
}

function describeProblem(problem: Problem): string {
  return problem.frame === "" ? headlineOf(problem) : `${headlineOf(problem)}\n${problem.frame}`;
}

/** A problem in one line: its place, path and message. */
export function headlineOf({ file, line, column, path, message }: Problem): string {
  return [`${file}:${line}:${column}`, path, message].filter((part) => part !== "").join("  ");
}

/** The result of `read`; undefined for a tenant file with problems, which `validate` reports. */
export function unlessUnsound<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}
