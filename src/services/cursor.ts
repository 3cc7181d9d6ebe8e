import { Fault } from "../domain/fault.ts";

/** An opaque page cursor: the sort key of the last item, not meant to be read or made by callers. */
export function encodeCursor(parts: (string | number)[]): string {
  return Buffer.from(JSON.stringify(parts)).toString("base64url");
}

/** @throws Fault BAD_REQUEST when the cursor was not made by this list. */
export function decodeCursor(cursor: string, shape: ("string" | "number")[]): (string | number)[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
    if (
      Array.isArray(parts) &&
      parts.length === shape.length &&
      shape.every((type, index) => typeof parts[index] === type) &&
      parts.every((part) => typeof part !== "number" || Number.isSafeInteger(part))
    )
      return parts;
  } catch {
    // Not JSON: refused below like any other text that is not ours.
  }
  throw new Fault("BAD_REQUEST", "cursor: not a cursor of this list");
}

/**
 * The page of a list and the cursor of the next one.
 * @param rows what was found, one more than `limit` if there is more
 * @param placeOf the sort key of an item, where the next page goes on
 */
export function pageOf<Row>(
  rows: readonly Row[],
  limit: number,
  placeOf: (last: Row) => (string | number)[],
): { page: Row[]; nextCursor: string | null } {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return { page, nextCursor: rows.length > limit && last ? encodeCursor(placeOf(last)) : null };
}
