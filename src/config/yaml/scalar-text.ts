/** Words that need no quotes: YAML 1.1, which other tools still read, takes yes, no, on and off for booleans. */
const PLAIN = /^(?!(?:y|n|yes|no|on|off|true|false|null)$)[A-Za-z_][\w.-]*$/i;

/**
 * A text as it stands in YAML in place of another.
 *
 * @param first the first character of what it replaces, whose quotes it keeps
 */
export function scalarText(text: string, first: string): string {
  if (first === "'" && !/['\p{Cc}]/u.test(text)) return `'${text}'`;
  return first !== '"' && PLAIN.test(text) ? text : JSON.stringify(text);
}
