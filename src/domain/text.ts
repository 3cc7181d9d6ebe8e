/*
 * Characters that are invisible or change how the surrounding text is shown: control characters, half surrogate pairs,
 * line separators, direction marks, the byte order mark. They could make a question look like another.
 */
const UNPLAIN = /[\p{Cc}\p{Cs}\u2028-\u202e\u2066-\u2069\ufeff]/u;

/** The first character that a line must not contain, by kind, code point and place; undefined if there is none. */
export function unplainIn(line: string): string | undefined {
  const at = line.search(UNPLAIN);
  if (at === -1) return undefined;
  const code = line.codePointAt(at) ?? 0;
  const name = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
  return `${kindOf(code)} (${name}) at character ${[...line.slice(0, at)].length + 1}`;
}

function kindOf(code: number): string {
  if (code < 0xa0) return "a control character";
  if (code >= 0xd800 && code <= 0xdfff) return "half a surrogate pair";
  if (code === 0xfeff) return "a byte order mark";
  return code === 0x2028 || code === 0x2029 ? "a line separator" : "a direction mark";
}

/** One line without such characters. */
export const PLAIN_LINE = /^[^\p{Cc}\p{Cs}\u2028-\u202e\u2066-\u2069\ufeff]*$/u;

/** The same for text of several lines: newlines and tabs are legal. */
export const PLAIN_TEXT = /^(?:[\n\t]|[^\p{Cc}\p{Cs}\u2028-\u202e\u2066-\u2069\ufeff])*$/u;

/** The FNV-1a hash of a text, 32 bits. It spreads texts well, but is not secure. */
export function spreadHash(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

/** Letters that are written from right to left, and marks that change the direction of text. */
const DIRECTED =
  /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const [ISOLATE, END] = ["\u2068", "\u2069"];

/** Whether some of a text may be shown from right to left. */
export const isDirected = (text: string): boolean => DIRECTED.test(text);

/** The same text, with marks around it, so that it opens and closes no isolate but its own (Unicode's UAX #9). */
export function balanced(text: string): string {
  let [open, foreign] = [0, 0];
  for (const [mark] of text.matchAll(/[\u2066-\u2069]/g))
    if (mark !== END) open += 1;
    else if (open > 0) open -= 1;
    else foreign += 1;
  return ISOLATE.repeat(foreign) + text + END.repeat(open);
}

/** A name within a sentence: no letter or mark in it moves a word around it. */
export function isolated(name: string): string {
  return isDirected(name) ? `${ISOLATE}${balanced(name)}${END}` : name;
}

/** What is invisible, or moves what stands beside it, so that a line would not be read as it is pasted. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Quotes a text so that a shell takes it for one word. The shells bash, zsh and ksh read the bytes of what is invisible. */
export function shellWord(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  if (text.search(UNSEEN) === -1) return `'${text.replaceAll("'", "'\\''")}'`;
  const bytesOf = (unseen: string) =>
    Array.from(new TextEncoder().encode(unseen), (byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");
  return `$'${text.replace(/[\\']/g, "\\$&").replace(UNSEEN, bytesOf)}'`;
}

/** `1 market`, `2 markets`. @param many the form for other numbers, where it is not `one` with an s */
export function counted(count: number | bigint, one: string, many = `${one}s`): string {
  return `${count} ${BigInt(count) === 1n ? one : many}`;
}

/** Whether a text is a well-formed BCP 47 language tag, such as `pt-BR`. */
export function isLanguageTag(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false;
  }
}
