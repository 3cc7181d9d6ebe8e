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

/** Quotes a text so that a shell takes it for one word. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
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
