import type { YAMLError } from "yaml";

/** By the code of the YAML library, which may quote the text, and with it a literal secret: these sentences never do. */
const BY_CODE: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: "a tab cannot indent YAML: use spaces",
  MULTIPLE_DOCS: "the file must hold one document: remove the second ---",
  TAG_RESOLVE_FAILED: "YAML tags (!...) have no meaning here",
  BAD_DQ_ESCAPE: "there is no such escape in a double-quoted text",
  BAD_INDENT: "must begin in the column of the lines that it belongs with",
  BAD_SCALAR_START: "a text that begins with this character must be in quotes",
  BLOCK_IN_FLOW: "a comma is missing, or a text with a colon lacks its quotes",
  MULTILINE_IMPLICIT_KEY: "a key must stand on one line, with a colon and a space after it",
  UNEXPECTED_TOKEN: "YAML does not expect this here",
  RESOURCE_EXHAUSTION: "the file is nested too deeply",
};

/** Where one code of the library stands for several mistakes: what its own sentence says of them. */
const BY_WORDS: readonly [words: RegExp, sentence: string][] = [
  [/end with a \}|expected .*\}$/i, "the mapping that begins with { must end with }, further right than its key"],
  [/end with a \]|expected .*\]$/i, "the list that begins with [ must end with ], further right than its key"],
  [/flow end indicator/i, "the closing bracket must stand further right than the key"],
  [/closing ['"]/i, "a text in quotes must end with the quote"],
  [/nested mappings/i, "one line holds one key: quote the text, or begin a new line"],
  [/sequence may not be|on same line with key/i, "a list must begin on a line of its own"],
  [/followed by map values/i, "a key must be followed by a colon"],
  [/missing , /i, "a comma is missing before this"],
  [/missing space after :|after :/i, "a space is missing after the colon"],
  [/comments must be separated/i, "a space is missing before the #"],
  [/without - indicator/i, "an entry of a list begins with -"],
];

/** What is wrong with a text that is no YAML. */
export function syntaxSentence({ code, message }: YAMLError): string {
  const known = BY_WORDS.find(([words]) => words.test(message));
  return known?.[1] ?? BY_CODE[code] ?? "this is not valid YAML";
}
