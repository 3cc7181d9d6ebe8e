import { randomUUID } from "node:crypto";

/**
 * An opaque identifier that sorts by time, so that new rows go to the right edge of their index: 48 bits of
 * milliseconds and 80 random bits, hex, as in UUID version 7.
 * @param nowMs milliseconds since the epoch
 */
export function newId(prefix: string, nowMs: number): string {
  // Node draws the randomness of UUIDs in advance, many at a time; the digits taken hold no version or variant.
  const uuid = randomUUID();
  return `${prefix}_${nowMs.toString(16).padStart(12, "0")}${uuid.slice(0, 8)}${uuid.slice(24)}`;
}
