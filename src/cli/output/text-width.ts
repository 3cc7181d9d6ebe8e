import { stripVTControlCharacters } from "node:util";

/** Code points that take two columns, as the first and last of each range (UAX #11, wide and full-width). */
const WIDE: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0x4dbf],
  [0x4e00, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x20000, 0x3fffd],
];

const PLAIN = /^[\x20-\x7e]*$/;
const ELLIPSIS = "…";

/** The columns that a text takes on a terminal. */
export function displayWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  return graphemes(text).reduce((width, grapheme) => width + graphemeWidth(grapheme), 0);
}

/** The text itself when it fits, else its beginning and an ellipsis. */
export function shorten(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let kept = "";
  let used = 1;
  for (const grapheme of graphemes(text)) {
    used += graphemeWidth(grapheme);
    if (used > width) break;
    kept += grapheme;
  }
  return `${kept.trimEnd()}${ELLIPSIS}`;
}

/**
 * Breaks a line between words into lines of at most this width, each with the same indent. A longer word is put on a
 * line of its own, unbroken. A date and its time are one word.
 */
export function wrap(text: string, width: number): string[] {
  if (displayWidth(text) <= width) return [text];
  const indent = /^ */.exec(text)?.[0] ?? "";
  const room = width - indent.length;
  const lines: string[] = [];
  let line = "";
  for (const word of text.slice(indent.length).split(/ (?!\d\d:\d\d)/)) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line === "" || displayWidth(longer) <= room) line = longer;
    else {
      lines.push(line);
      line = word;
    }
  }
  return [...lines, line].map((each) => indent + each);
}

/** Breaks a text into lines that are no wider than `width`: between words, and inside of a word that is wider. */
export function wrapTo(text: string, width: number): string[] {
  return wrap(text, width).flatMap((line) => (displayWidth(line) <= width ? [line] : broken(line, width)));
}

function broken(word: string, width: number): string[] {
  const lines = [""];
  for (const grapheme of graphemes(word)) {
    const longer = `${lines.at(-1)}${grapheme}`;
    if (displayWidth(longer) <= width || lines.at(-1) === "") lines[lines.length - 1] = longer;
    else lines.push(grapheme);
  }
  return lines;
}

/**
 * Makes text from outside, such as a question or an error message, safe for a terminal: one line, without escape
 * sequences, which could repaint the operator's screen, and without marks that reverse the direction of text.
 */
export function sanitizeLine(text: string): string {
  if (PLAIN.test(text)) return text;
  return stripVTControlCharacters(text)
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "");
}

/**
 * Makes JSON safe for a terminal without changing its value. `JSON.stringify` leaves these characters as they are. They
 * occur only in strings, where an escape means the same.
 */
export function escapeControls(json: string): string {
  return json.replace(
    /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Makes a text of several lines safe for a terminal. */
export function sanitizeText(text: string): string {
  return text.split(/\r?\n/).map(sanitizeLine).join("\n");
}

function graphemes(text: string): string[] {
  return Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment);
}

function graphemeWidth(grapheme: string): number {
  const code = grapheme.codePointAt(0) ?? 0;
  if (/^[\p{Cc}\p{Cf}\p{M}]/u.test(grapheme)) return 0;
  if (/\p{Emoji_Presentation}|\u{fe0f}/u.test(grapheme)) return 2;
  return WIDE.some(([first, last]) => code >= first && code <= last) ? 2 : 1;
}

/** Breaks sentences between words where a terminal is too narrow; a pipe gets them unbroken. */
export function folded(
  { isTTY, columns }: { isTTY?: boolean | undefined; columns?: number | undefined },
  text: string,
): string {
  if (!isTTY || !columns) return text;
  return text
    .split("\n")
    .flatMap((line) => wrap(line, columns))
    .join("\n");
}
