import { createHash } from "node:crypto";
import { type Document, LineCounter, parseAllDocuments, parseDocument } from "yaml";
import { counted } from "../../domain/text.ts";
import { type Extent, type Finding, formatPath, type Path, type Position, type Problem } from "../config-error.ts";
import type { SchemaGuide } from "../schema/schema-guide.ts";
import { drawFrame, type Span, type Visibility } from "./code-frame.ts";
import { syntaxMistakes } from "./syntax-sentence.ts";
import { findNode, structureFindings, visibleSpans, visibleWords } from "./yaml-tree.ts";

/** Further problems are only counted: each needs a frame, and a megabyte can contain very many. */
const MAX_PROBLEMS = 100;

const READING = {
  version: "1.2",
  // Our own check finds repeated keys and knows their paths.
  uniqueKeys: false,
  prettyErrors: false,
  logLevel: "error",
} as const;

/** A YAML text that keeps the position of everything. Version 1.2, so that `NO` is Norway and not false. */
export class YamlSource {
  /** The file as problems name it. */
  readonly file: string;
  readonly sha256: string;
  /** The text as plain data; undefined for invalid YAML. */
  readonly value: unknown;
  /** The mistakes in the YAML itself. */
  readonly syntaxProblems: readonly Problem[];
  readonly #text: string;
  readonly #guide: SchemaGuide;
  readonly #document: Document.Parsed;
  readonly #lines: LineCounter;
  #visibility: Visibility | undefined;

  /** Every document of a text with several documents; empty ones are omitted. */
  static documentsOf(text: string, file: string, guide: SchemaGuide): YamlSource[] {
    const lines = new LineCounter();
    const documents = parseAllDocuments(text, { ...READING, lineCounter: lines });
    return [...documents]
      .filter(({ contents, errors }) => contents !== null || errors.length > 0)
      .map((document) => new YamlSource(text, file, guide, { document, lines }));
  }

  /** @param parsed one of the documents; the text contains all of them */
  constructor(
    text: string,
    file: string,
    guide: SchemaGuide,
    parsed?: { document: Document.Parsed; lines: LineCounter },
  ) {
    this.file = file;
    this.#lines = parsed?.lines ?? new LineCounter();
    this.sha256 = createHash("sha256").update(text).digest("hex");
    this.#text = text;
    this.#guide = guide;
    this.#document = parsed?.document ?? parseDocument(text, { ...READING, lineCounter: this.#lines });
    const mistakes = syntaxMistakes(this.#document, text);
    if (mistakes.length > 0) {
      this.#visibility = visibleWords(text, guide);
      const about = { path: "", code: "YAML_SYNTAX", severity: "error", fix: null } as const;
      this.syntaxProblems = mistakes
        .slice(0, MAX_PROBLEMS)
        .map(({ span, message }) => this.#problem(span, { ...about, message }));
      return;
    }
    const findings = structureFindings(this.#document);
    if (findings.length === 0) this.value = this.#toPlainData(findings);
    this.syntaxProblems = this.problems(findings);
  }

  /** The position of the value at `path`, or of its nearest existing ancestor's key if the file does not state it. */
  positionOf(path: Path, atKey = false): Position {
    return this.#position(this.#spanOf(path, atKey)[0]);
  }

  /** The text at {@link positionOf}; of a whole document only its beginning. */
  #spanOf(path: Path, atKey = false): Span {
    const { key, value, missing } = findNode(this.#document, path);
    const node = (atKey || missing || !value ? key : value) ?? value ?? this.#document.contents;
    const [start = 0, end = start] = node?.range ?? [];
    return [start, missing && node === this.#document.contents ? start : end];
  }

  /** Whether the text states a value for `path`, even null. Unstated values have a default or are unmanaged. */
  states(path: Path): boolean {
    return !findNode(this.#document, path).missing;
  }

  /** Findings with their positions and frames; beyond the limit one last problem counts the rest. */
  problems(findings: readonly Finding[]): Problem[] {
    const problems = findings
      .slice(0, MAX_PROBLEMS)
      .map(({ path, message, atKey, code = "INVALID_VALUE", meant, severity = "error" }) => {
        const span = this.#spanOf(path, atKey);
        const fix = meant === undefined ? null : scalarText(meant, this.#text.charAt(span[0]));
        return this.#problem(span, { path: this.#shownPath(path), message, code, severity, fix });
      });
    if (findings.length > MAX_PROBLEMS) {
      const message = `${counted(findings.length - MAX_PROBLEMS, "more problem is", "more problems are")} not shown`;
      const end = this.#text.length;
      const about = { code: "INVALID_VALUE", severity: "error", fix: null } as const;
      problems.push(this.#problem([end, end], { path: "", message, ...about }));
    }
    return problems;
  }

  #problem([start, end]: Span, about: Omit<Problem, "file" | "frame" | keyof Extent>): Problem {
    this.#visibility ??= visibleSpans(this.#document, this.#text, this.#guide);
    const position = this.#position(start);
    const { line: endLine, column: endColumn } = this.#position(Math.max(start, end));
    const { lineStarts } = this.#lines;
    const frame = drawFrame({ text: this.#text, lineStarts }, position, this.#visibility);
    return { file: this.file, ...position, endLine, endColumn, ...about, frame };
  }

  #toPlainData(findings: Finding[]): unknown {
    try {
      return this.#document.toJS({ maxAliasCount: 100 });
    } catch {
      // Ten nested aliases of ten make a billion nodes.
      findings.push({ path: [], message: "the file's aliases expand to too much data", code: "YAML_SYNTAX" });
      return undefined;
    }
  }

  /** A position after the text's last word is moved to that word's end, not to the empty line after it. */
  #position(offset: number): Position {
    const { line, col } = this.#lines.linePos(Math.min(offset, this.#text.trimEnd().length));
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  }

  /** The dotted path up to the first key that may not be shown. */
  #shownPath(path: Path): string {
    const end = path.findIndex(
      (step, at) => typeof step === "string" && !this.#guide.mayShowKey(path.slice(0, at), step),
    );
    return formatPath(end === -1 ? path : path.slice(0, end));
  }
}

/** Words that need no quotes. YAML 1.1, which other tools still read, takes yes, no, on and off for booleans. */
const PLAIN = /^(?!(?:y|n|yes|no|on|off|true|false|null)$)[A-Za-z_][\w.-]*$/i;

/**
 * A text in YAML notation, as a replacement for another.
 *
 * @param first the first character of the replaced text, whose quotes are kept
 */
function scalarText(text: string, first: string): string {
  if (first === "'" && !/['\p{Cc}]/u.test(text)) return `'${text}'`;
  return first !== '"' && PLAIN.test(text) ? text : JSON.stringify(text);
}
