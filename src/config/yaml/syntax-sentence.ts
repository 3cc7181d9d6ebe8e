import { type Document, isCollection, isScalar, visit, type YAMLError } from "yaml";
import type { Span } from "./code-frame.ts";

/** Sentences by the YAML library's error codes. The library's own messages may quote the text, and with it a secret. */
const BY_CODE: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: "a tab cannot indent YAML: use spaces",
  MULTIPLE_DOCS: "the file must contain one document: remove the second ---",
  TAG_RESOLVE_FAILED: "YAML tags (!...) have no meaning here",
  BAD_DQ_ESCAPE: "there is no such escape in a double-quoted text",
  BAD_INDENT: "must begin in the same column as the lines of its block",
  BAD_SCALAR_START: "a text that begins with this character must be in quotes",
  BLOCK_IN_FLOW: "a comma is missing, or a text with a colon lacks its quotes",
  MULTILINE_IMPLICIT_KEY: "a key must be on one line, with a colon and a space after it",
  UNEXPECTED_TOKEN: "YAML does not expect this here",
  RESOURCE_EXHAUSTION: "the file is nested too deeply",
};

/** Sentences for codes with several meanings, chosen by the library's own message. */
const BY_WORDS: readonly [words: RegExp, sentence: string][] = [
  [/end with a \}|expected .*\}$/i, "the mapping that begins with { must end with }, further right than its key"],
  [/end with a \]|expected .*\]$/i, "the list that begins with [ must end with ], further right than its key"],
  [/flow end indicator/i, "the closing bracket must be further right than the key"],
  [/closing ['"]/i, "a text in quotes must end with the quote"],
  [/nested mappings/i, "a line can have only one key: quote the text, or begin a new line"],
  [/sequence may not be|on same line with key/i, "a list must begin on a line of its own"],
  [/followed by map values/i, "a key must be followed by a colon"],
  [/missing , /i, "a comma is missing before this"],
  [/missing space after :|after :/i, "a space is missing after the colon"],
  [/comments must be separated/i, "a space is missing before the #"],
  [/without - indicator/i, "an entry of a list begins with -"],
];

const TOO_FAR = "is indented further than the lines of its block";

/**
 * The mistakes of invalid YAML. Only the first error is reported, at the line that caused it, because later ones follow
 * from it. Without an error, each warning is reported.
 */
export function syntaxMistakes(document: Document.Parsed, text: string): { span: Span; message: string }[] {
  const { errors, warnings } = document;
  const tab = errors.find(({ code }) => code === "TAB_AS_INDENT");
  const multiline = errors.find(({ code }) => code === "MULTILINE_IMPLICIT_KEY");
  const earliest = errors.toSorted((one, other) => one.pos[0] - other.pos[0])[0];
  const first = tab ?? (multiline?.pos[0] === earliest?.pos[0] ? multiline : undefined) ?? earliest;
  if (!first) return warnings.map((warning) => ({ span: warning.pos, message: sentence(warning) }));
  const [start, end] = first.pos;
  const lineStart = text.lastIndexOf("\n", end - 1) + 1;
  if (first === multiline && lineStart > start) {
    const indent = text.slice(lineStart, end).search(/\S|$/);
    return [{ span: [lineStart + indent, end], message: TOO_FAR }];
  }
  const opening = UNCLOSED.test(first.message) ? openingBefore(document, text, first) : undefined;
  return [{ span: opening === undefined ? first.pos : [opening, opening + 1], message: sentence(first) }];
}

const UNCLOSED = /end with a [}\]]|expected .*[}\]]$|closing ['"]/i;

/** The position of the last bracket or quote that is not closed. */
function openingBefore(
  document: Document.Parsed,
  text: string,
  { pos: [end], message }: YAMLError,
): number | undefined {
  const isQuote = /closing/i.test(message);
  let found: number | undefined;
  visit(document, (_, node) => {
    const isMeant = isQuote
      ? isScalar(node) && node.type?.startsWith("QUOTE")
      : isCollection(node) && node.flow && !/[}\]]/.test(text.charAt((node.range?.[1] ?? 0) - 1));
    const [start] = (isScalar(node) || isCollection(node) ? node.range : undefined) ?? [];
    if (isMeant && start !== undefined && start < end) found = start;
  });
  return found;
}

function sentence({ code, message }: YAMLError): string {
  const known = BY_WORDS.find(([words]) => words.test(message));
  return known?.[1] ?? BY_CODE[code] ?? "this is not valid YAML";
}
