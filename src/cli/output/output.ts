import { styleText } from "node:util";
import { type ExitCode, errorRecord, failureOf, hintsFor, type Subject, stackOf } from "../errors.ts";
import { type Annotation, formatAnnotations, isAnnotationFormat } from "./annotations.ts";
import { plain } from "./cells.ts";
import { markdownRecord, markdownTable } from "./markdown.ts";
import type { Pager, Sink } from "./pager.ts";
import { viewOf } from "./proposal-view.ts";
import { type Format, pickFields, toCsv, toNdjson, toTsv, toYaml } from "./serialise.ts";
import {
  type Column,
  type Field,
  fieldColumns,
  renderRecord,
  renderTable,
  type TableStyle,
  toldFields,
} from "./table.ts";
import { escapeControls, folded, sanitizeLine, sanitizeText, shorten } from "./text-width.ts";

export interface OutputOptions {
  /** Shows a text that is longer than the terminal; without a pager all of it is written at once. */
  pager?: Pager | undefined;
  stdout: Sink;
  stderr: Sink;
  /** The format of `--output`; without it a table on a terminal and JSON elsewhere. */
  format?: Format | undefined;
  fields?: readonly string[] | undefined;
  quiet?: boolean | undefined;
  color?: boolean | undefined;
  debug?: boolean | undefined;
  /** The subject of hints after an error. */
  subject?: Subject | undefined;
}

/** A picture above a table, on terminals only; empty where there is no room for it. */
type Picture<Value> = (value: Value, width: number) => string;

/** How people see a result. Its JSON needs no description: it is the value itself. */
export type View<Value, Row extends object> = Shape<Value, Row> & {
  /** Problems at places of files: `-o github` and `-o sarif` print only these. */
  annotations?: (value: Value) => readonly Annotation[];
  /** The lines of `csv` and `tsv`, where they are not the list's rows or the record. */
  lines?: (value: Value) => readonly { readonly [name: string]: unknown }[];
};

type Shape<Value, Row extends object> =
  | {
      kind: "list";
      rows: (value: Value) => readonly Row[];
      columns: readonly Column<Row>[];
      empty: string;
      picture?: Picture<Value>;
      /** Markdown that pages show below the table. */
      below?: (value: Value) => string;
    }
  | { kind: "record"; fields: (value: Value) => readonly Field[]; picture?: Picture<Value> }
  /** A value that people paste or use in `$(...)`: text unless the line names a format. `atOnce`: never in a pager. */
  | { kind: "text"; text: (value: Value) => string; atOnce?: true };

/** The only writer of this process: data to stdout, everything else to stderr. */
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

  /** Whether pictures are shown, so that callers can skip reading their data. */
  get showsPictures(): boolean {
    return this.format === "table" && Boolean(this.#options.stdout.isTTY) && this.#options.fields === undefined;
  }

  /** Whether callers should count. */
  get showsProgress(): boolean {
    return Boolean(this.#options.stderr.isTTY) && !this.#options.quiet;
  }

  /** With `-o json` and `-o ndjson`, programs read stderr too. */
  get speaksJson(): boolean {
    return this.#asked && (this.format === "json" || this.format === "ndjson");
  }

  /** Prints a result. */
  async print<Value extends object, Row extends object = Value>(value: Value, view: View<Value, Row>): Promise<void> {
    const text = this.#harmless(await this.#render(value, viewOf(value, view)));
    this.#clearProgress();
    if (text === "") return;
    const whole = text.endsWith("\n") ? text : `${text}\n`;
    const { stdout, pager } = this.#options;
    const isLong =
      !("atOnce" in view) && stdout.isTTY && whole.split("\n").length > (stdout.rows ?? Number.POSITIVE_INFINITY);
    if (!(isLong && pager && (await pager(whole)))) stdout.write(whole);
  }

  /** Prints places of files where the format is for them, although there is no result. */
  async annotate(annotations: readonly Annotation[]): Promise<void> {
    if (!isAnnotationFormat(this.format)) return;
    await this.print({}, { kind: "text", text: () => "", annotations: () => annotations });
  }

  get isLive(): boolean {
    return this.format === "table" && Boolean(this.#options.stdout.isTTY);
  }

  /** Switches to the terminal's alternate screen, as editors do, so that the previous content comes back afterwards. */
  enterScreen(): void {
    this.#options.stdout.write("\u001b[?1049h\u001b[?25l");
  }

  leaveScreen(): void {
    this.#options.stdout.write("\u001b[?25h\u001b[?1049l");
  }

  /** Draws a live view in place. Cuts off what does not fit, because a screen that scrolls cannot be redrawn. */
  redraw<Value extends object, Row extends object>(value: Value, view: View<Value, Row>): void {
    const { rows = 24 } = this.#options.stdout;
    const lines = this.#table(value, view)
      .split("\n")
      .slice(0, rows - 2);
    const hint = this.#style().title("Ctrl-C ends the watch");
    // Each line clears the one that it replaces: clearing the whole screen first would flicker.
    const drawn = [...lines, hint].map((line) => `${line}\u001b[K`).join("\r\n");
    this.#options.stdout.write(`\u001b[H${drawn}\u001b[J`);
  }

  /** The terminal's columns, to which tables are fitted; undefined for a table of any width. */
  get width(): number | undefined {
    return this.#style().width;
  }

  /** Prints one line of JSON of an endless stream. Its lines differ, so a field that a line lacks is null. */
  line(value: Readonly<Record<string, unknown>>): void {
    const { fields, stdout } = this.#options;
    const picked = fields ? pickFields([value], fields)[0] : value;
    stdout.write(`${this.#harmless(JSON.stringify(picked))}\n`);
  }

  /** Shows that long work goes on, and since when. */
  async during<Result>(message: string, work: Promise<Result>): Promise<Result> {
    if (!this.showsProgress) return work;
    const startedAt = performance.now();
    const show = () => this.progress(`${message}… ${Math.floor((performance.now() - startedAt) / 1000)} s`);
    const timer = setInterval(show, 1000);
    try {
      return await work;
    } finally {
      clearInterval(timer);
      this.#clearProgress();
    }
  }

  /** Prints names, one per line or in the format of the line. */
  list(names: readonly string[]): void {
    const asJson = this.#asked && !["table", "csv", "tsv", "markdown"].includes(this.format);
    const text = asJson ? escapeControls(JSON.stringify(names)) : names.map(sanitizeLine).join("\n");
    this.#options.stdout.write(`${text}\n`);
  }

  /**
   * Prints lines of JSON, which are too many to be held at once. Resolves when they are written.
   * @returns false when the reader has gone
   */
  stream(text: string): Promise<boolean> {
    this.#clearProgress();
    const { stdout } = this.#options;
    return new Promise((resolve) =>
      stdout.write(stdout.isTTY ? escapeControls(text) : text, (error) => resolve(!error)),
    );
  }

  /** Prints a line for people about what happened, which is not an error. */
  note(message: string): void {
    if (this.#options.quiet) return;
    this.#clearProgress();
    this.#options.stderr.write(`${folded(this.#options.stderr, sanitizeText(message))}\n`);
  }

  /** Prints a value before a question: on stderr like the question, and despite `--quiet`. */
  explain<Value extends object, Row extends object>(value: Value, view: View<Value, Row>): void {
    this.#clearProgress();
    this.#options.stderr.write(`${this.#table(value, view)}\n`);
  }

  /** Prints a line of another process despite `--quiet`, which that process received too. */
  relay(line: string): void {
    this.#clearProgress();
    this.#options.stderr.write(`${sanitizeLine(line)}\n`);
  }

  /** Prints a line that the next one replaces; on terminals only. */
  progress(message: string): void {
    if (!this.showsProgress) return;
    // A line that wraps could not be replaced.
    const { columns = 80 } = this.#options.stderr;
    this.#options.stderr.write(`\r\u001b[2K${shorten(sanitizeLine(message), columns - 1)}`);
    this.#progressShown = true;
  }

  /** Prints the error, and its tenant where there are several, and returns the exit code. */
  fail(error: unknown, tenant?: string): ExitCode {
    const { exit, message } = failureOf(error);
    const subject = tenant === undefined ? this.#options.subject : { ...this.#options.subject, tenant };
    this.#clearProgress();
    if (message !== undefined) {
      const said = tenant === undefined ? message : `${tenant}: ${message}`;
      const text = this.speaksJson
        ? escapeControls(JSON.stringify(errorRecord(error, subject, said)))
        : folded(this.#options.stderr, sanitizeText(`pmctl: ${said}`));
      this.#options.stderr.write(`${text}\n`);
    }
    if (this.showsProgress) this.#options.stderr.write(sanitizeText(hintsFor(error, subject)));
    if (this.#options.debug && message !== undefined) this.#options.stderr.write(`${sanitizeText(stackOf(error))}\n`);
    return exit;
  }

  /**
   * Neutralises escape sequences on a terminal; data in a file stays as it is. Tables have done so cell by cell,
   * because their own colours must work.
   */
  #harmless(text: string): string {
    if (!this.#options.stdout.isTTY || this.format === "table") return text;
    return this.format === "json" || this.format === "ndjson" ? escapeControls(text) : sanitizeText(text);
  }

  async #render<Value extends object, Row extends object>(value: Value, view: View<Value, Row>): Promise<string> {
    const { fields } = this.#options;
    if (view.kind === "text" && !this.#asked) return this.#table(value, view);
    const rows = (view.kind === "list" ? view.rows(value) : [value]) as readonly Readonly<Record<string, unknown>>[];
    const picked = fields ? pickFields(rows, fields) : rows;
    const whole = fields ? (view.kind === "list" ? picked : picked[0]) : value;
    switch (this.format) {
      case "json":
        return JSON.stringify(whole, null, 2);
      case "yaml":
        return toYaml(whole);
      case "csv":
      case "tsv":
        return (this.format === "csv" ? toCsv : toTsv)(fields ? picked : (view.lines?.(value) ?? rows));
      case "ndjson":
        return toNdjson(picked);
      case "markdown":
        return fields ? markdownTable(picked, fieldColumns(fields)) : markdownOf(value, view);
      case "github":
      case "sarif":
        return formatAnnotations(view.annotations?.(value) ?? [], this.format);
      case "table":
        return fields ? this.#fieldTable(picked, fields, view.kind) : this.#table(value, view);
    }
  }

  #table<Value extends object, Row extends object>(value: Value, view: View<Value, Row>): string {
    if (view.kind === "text") return this.#options.stdout.isTTY ? sanitizeText(view.text(value)) : view.text(value);
    const style = this.#style();
    const picture = style.width === undefined ? "" : (view.picture?.(value, style.width) ?? "");
    const above = picture === "" ? "" : `${picture}\n\n`;
    if (view.kind === "record") return above + renderRecord(toldFields(view.fields(value)), style);
    const rows = view.rows(value);
    if (rows.length > 0) return above + renderTable(rows, view.columns, style);
    this.note(view.empty);
    return "";
  }

  #fieldTable(
    rows: readonly Readonly<Record<string, unknown>>[],
    fields: readonly string[],
    kind: View<object, object>["kind"],
  ): string {
    if (kind === "list") return renderTable(rows, fieldColumns(fields), this.#style());
    const told = fields.map((field) => [field, plain(rows[0]?.[field])] as const);
    return renderRecord(told, this.#style());
  }

  #style(): TableStyle {
    const { stdout, color } = this.#options;
    const paints = Boolean(stdout.isTTY) && color !== false;
    return {
      width: stdout.isTTY ? (stdout.columns ?? 80) : undefined,
      title: (text) => (paints ? styleText("dim", text, { validateStream: false }) : text),
      paint: (text, how) => (paints ? styleText(how, text, { validateStream: false }) : text),
    };
  }

  #clearProgress(): void {
    if (!this.#progressShown) return;
    this.#options.stderr.write("\r\u001b[2K");
    this.#progressShown = false;
  }
}

function markdownOf<Value extends object, Row extends object>(value: Value, view: View<Value, Row>): string {
  if (view.kind === "text") return view.text(value);
  if (view.kind === "record") return markdownRecord(toldFields(view.fields(value)));
  const below = view.below?.(value) ?? "";
  return `${markdownTable(view.rows(value), view.columns)}${below === "" ? "" : `\n\n${below}`}`;
}
