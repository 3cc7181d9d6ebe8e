import { randomBytes } from "node:crypto";

/**
 * An opaque identifier that sorts by time, so that new rows go to the right edge of their index: 48 bits of
 * milliseconds and 80 random bits, hex, as in UUID version 7.
 * @param nowMs milliseconds since the epoch
 */
export function newId(prefix: string, nowMs: number): string {
  return `${prefix}_${nowMs.toString(16).padStart(12, "0")}${randomBytes(10).toString("hex")}`;
}
