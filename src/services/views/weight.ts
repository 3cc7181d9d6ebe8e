/** What an object, a field or a number takes, roughly. */
const SLOT_BYTES = 24;
/** A text and what is made of the answer: its wire form, its text and its bytes. */
const CHARACTER_BYTES = 4;

/** An estimate of the memory that a plain value takes with what is derived from it, in bytes. */
export function weightOf(value: unknown): number {
  if (typeof value === "string") return SLOT_BYTES + value.length * CHARACTER_BYTES;
  if (typeof value !== "object" || value === null) return SLOT_BYTES;
  return Object.values(value).reduce((sum: number, each) => sum + weightOf(each), 4 * SLOT_BYTES);
}
