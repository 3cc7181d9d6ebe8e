import { styleText } from "node:util";
import { Fault } from "../domain/fault.ts";
import { plain } from "./cells.ts";
import { type ExitCode, failureOf } from "./errors.ts";
import { fieldOf, toCsv, toNdjson, toYaml } from "./serialise.ts";
import { type Column, renderRecord, renderTable, type TableStyle } from "./table.ts";
import { oneLine, severalLines } from "./text-width.ts";

export const FORMATS = ["table", "json", "yaml", "csv", "ndjson"] as const;
export type Format = (typeof FORMATS)[number];

/** What output needs of a stream; the process's own and a test's buffer have it. */
export interface Sink {
  write(text: string): unknown;
  isTTY?: boolean | undefined;
  columns?: number | undefined;
}

export interface OutputOptions {
  stdout: Sink;
  stderr: Sink;
  /** As asked for; without it a table on a terminal and JSON elsewhere. */
  format?: Format | undefined;
  fields?: readonly string[] | undefined;
  quiet?: boolean | undefined;
  color?: boolean | undefined;
  /** Show stacks. */
  debug?: boolean | undefined;
}

/** How a result looks to people. Its JSON needs no description: it is the value itself. */
export type View<Value, Row extends object> =
  | { kind: "list"; rows: (value: Value) => readonly Row[]; columns: readonly Column<Row>[]; empty: string }
  | { kind: "record"; fields: (value: Value) => readonly (readonly [string, string])[] }
  /** A value that is used as it stands, in `$(...)` too: text unless another format is asked for by name. */
  | { kind: "text"; text: (value: Value) => string };

/** The one way out: data to stdout, everything else to stderr. */
export class Output {
  readonly format: Format;
  readonly #asked: boolean;
  readonly #options: OutputOptions;
  #progressShown = false;

  constructor(options: OutputOptions) {
    this.#options = options;
    this.#asked = options.format !== undefined;
    this.format = options.format ?? (options.stdout.isTTY ? "table" : "json");
  }

  /** Whether progress would be seen: callers may save the work of counting. */
  get showsProgress(): boolean {
    return Boolean(this.#options.stderr.isTTY) && !this.#options.quiet;
  }

  /**
   * Prints a result.
   * @throws Fault USAGE when a field of `--fields` is not there
   */
  async print<Value extends object, Row extends object = Value>(value: Value, view: View<Value, Row>): Promise<void> {
    const text = await this.#render(value, view);
    this.#clearProgress();
    if (text !== "") this.#options.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
  }

  /** A line for people about what happened; not an error. */
  note(message: string): void {
    if (this.#options.quiet) return;
    this.#clearProgress();
    this.#options.stderr.write(`${severalLines(message)}\n`);
  }

  /** A line of another process, which decided by itself whether it is worth saying. */
  relay(line: string): void {
    this.#clearProgress();
    this.#options.stderr.write(`${oneLine(line)}\n`);
  }

  /** A line that the next one replaces, only where somebody watches. */
  progress(message: string): void {
    if (!this.showsProgress) return;
    this.#options.stderr.write(`\r\u001b[2K${oneLine(message)}`);
    this.#progressShown = true;
  }

  /** Says what went wrong and how the process ends. */
  fail(error: unknown): ExitCode {
    const { exit, code, message } = failureOf(error);
    this.#clearProgress();
    if (message !== undefined) this.#options.stderr.write(`${this.#errorText(message, code)}\n`);
    const hint = refusedRequest(error);
    // For people only: the request's id differs each time, and scripts compare what they read.
    if (hint !== undefined && this.showsProgress) this.#options.stderr.write(`Why: pmctl why ${hint}\n`);
    if (this.#options.debug && message !== undefined) this.#options.stderr.write(`${stackOf(error)}\n`);
    return exit;
  }

  #errorText(message: string, code: string): string {
    if (this.#asked && (this.format === "json" || this.format === "ndjson"))
      return JSON.stringify({ error: message, code });
    return `pmctl: ${severalLines(message)}`;
  }

  async #render<Value extends object, Row extends object>(value: Value, view: View<Value, Row>): Promise<string> {
    const { fields } = this.#options;
    if (view.kind === "text" && !this.#asked) return view.text(value);
    const rows = (view.kind === "list" ? view.rows(value) : [value]) as readonly Readonly<Record<string, unknown>>[];
    const picked = fields ? pickFields(rows, fields) : rows;
    const whole = fields ? (view.kind === "list" ? picked : picked[0]) : value;
    switch (this.format) {
      case "json":
        return JSON.stringify(whole, null, 2);
      case "yaml":
        return toYaml(whole);
      case "csv":
        return toCsv(picked);
      case "ndjson":
        return toNdjson(picked);
      case "table":
        return fields ? this.#fieldTable(picked, fields, view) : this.#table(value, view);
    }
  }

  #table<Value extends object, Row extends object>(value: Value, view: View<Value, Row>): string {
    if (view.kind === "text") return view.text(value);
    if (view.kind === "record") return renderRecord(view.fields(value), this.#style());
    const rows = view.rows(value);
    if (rows.length > 0) return renderTable(rows, view.columns, this.#style());
    this.note(view.empty);
    return "";
  }

  #fieldTable<Value extends object, Row extends object>(
    rows: readonly Readonly<Record<string, unknown>>[],
    fields: readonly string[],
    view: View<Value, Row>,
  ): string {
    if (view.kind !== "list") {
      const [row = {}] = rows;
      return renderRecord(
        fields.map((field) => [field, plain(row[field])]),
        this.#style(),
      );
    }
    const columns = fields.map((field) => ({
      title: field,
      cell: (row: Readonly<Record<string, unknown>>) => plain(row[field]),
    }));
    return renderTable(rows, columns, this.#style());
  }

  #style(): TableStyle {
    const { stdout, color } = this.#options;
    const paints = Boolean(stdout.isTTY) && color !== false;
    return {
      width: stdout.isTTY ? (stdout.columns ?? 80) : undefined,
      title: paints ? (text) => styleText("dim", text, { validateStream: false }) : (text) => text,
    };
  }

  #clearProgress(): void {
    if (!this.#progressShown) return;
    this.#options.stderr.write("\r\u001b[2K");
    this.#progressShown = false;
  }
}

function pickFields(
  rows: readonly Readonly<Record<string, unknown>>[],
  fields: readonly string[],
): Readonly<Record<string, unknown>>[] {
  const missing = fields.find((field) => rows.length > 0 && rows.every((row) => fieldOf(row, field) === undefined));
  if (missing !== undefined) {
    const known = [...new Set(rows.flatMap((row) => Object.keys(row)))].join(", ");
    throw new Fault("USAGE", `There is no field ${missing}; there are: ${known}`);
  }
  return rows.map((row) => Object.fromEntries(fields.map((field) => [field, fieldOf(row, field)])));
}

const STANDING = ["KYC_REQUIRED", "ACCOUNT_RESTRICTED", "JURISDICTION_BLOCKED", "SUITABILITY_REQUIRED"];

/** The id under which a server remembers why it refused; undefined for what has no rule behind it. */
function refusedRequest(error: unknown): string | undefined {
  if (!(error instanceof Fault) || (error.exitCode !== 7 && !STANDING.includes(error.code))) return undefined;
  const { requestId } = error.detail;
  return typeof requestId === "string" ? requestId : undefined;
}

function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const detail = error instanceof Fault ? `\n${JSON.stringify(error.detail)}` : "";
  const cause = error.cause === undefined ? "" : `\ncaused by ${stackOf(error.cause)}`;
  return `${error.stack ?? error.message}${detail}${cause}`;
}
