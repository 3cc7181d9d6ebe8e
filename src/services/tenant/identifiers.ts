import { randomBytes } from "node:crypto";
import { hostname } from "node:os";

/** Identifiers distinguish this many steps of the clock within a millisecond: a quarter of a microsecond each. */
const STEPS_PER_MS = 4096;
/** Digits of the random part. */
const RANDOM_DIGITS = 17;
/** Randomness is drawn for this many identifiers at a time: drawing takes longer than the rest of an identifier. */
const DRAWN = 256;

/** Drawn but unused random digits, and the position of the next ones. */
let drawn = "";
let used = 0;

/**
 * An opaque identifier that sorts by time, so that new rows go to the right edge of their index and a list by
 * identifier is a list by age: 48 bits of milliseconds, 12 bits of their fraction and 68 random bits, hex, as UUID
 * version 7 has them with its increased clock precision (RFC 9562, 6.2, method 3).
 * @param nowMs milliseconds since the epoch, with their fraction
 */
export function newId(prefix: string, nowMs: number): string {
  const ms = Math.floor(nowMs);
  const step = Math.floor((nowMs - ms) * STEPS_PER_MS);
  // Split in halves, since V8 writes hex of more than 31 bits digit by digit, as for a fraction.
  return `${prefix}_${hex(ms / 2 ** 24, 6)}${hex(ms % 2 ** 24, 6)}${hex(step, 3)}${randomDigits()}`;
}

/** A whole number below 2^31 in hex with this many digits. */
function hex(value: number, digits: number): string {
  return Math.trunc(value).toString(16).padStart(digits, "0");
}

function randomDigits(): string {
  if (used === drawn.length) {
    drawn = randomBytes((RANDOM_DIGITS * DRAWN) / 2).toString("hex");
    used = 0;
  }
  used += RANDOM_DIGITS;
  return drawn.slice(used - RANDOM_DIGITS, used);
}

/** Identifies this process among all that serve a tenant, on any machine. */
export const SERVER_ID = `${hostname()}-${process.pid}-${randomBytes(4).toString("hex")}`;
