import { createHmac } from "node:crypto";
import { isSameMac } from "../domain/audit/hmac.ts";
import { parseTimestamp } from "../domain/time/timestamp.ts";

const SHAPE = /^(?:sha256=)?([0-9a-f]{64})$/i;
const SECONDS = /^\d{1,12}(?:\.\d{1,9})?$/;
const REPLAY_WINDOW_MS = 5 * 60 * 1000;

/**
 * Whether `header` is the HMAC-SHA256 of the received bytes under one of the active secrets: hex in any case, with or
 * without the prefix `sha256=`. A repeated header arrives joined by a comma and fails.
 */
export function verifySignature(rawBody: Uint8Array, header: string | undefined, secrets: readonly string[]): boolean {
  return isHmac(rawBody, SHAPE.exec(header ?? "")?.[1], secrets);
}

const HEX_DIGITS = { sha256: 64, sha512: 128 } as const;

/** Whether `hex` is the HMAC of the bytes under one of the secrets, in any case. */
export function isHmac(
  message: Uint8Array,
  hex: string | undefined,
  secrets: readonly string[],
  algorithm: keyof typeof HEX_DIGITS = "sha256",
): boolean {
  // Checks the form first: Buffer.from(x, "hex") stops at the first bad digit.
  if (hex?.length !== HEX_DIGITS[algorithm] || !/^[0-9a-f]*$/i.test(hex)) return false;
  return isMac(message, [Buffer.from(hex, "hex")], secrets, algorithm);
}

/** Whether one of the signatures is the HMAC of the message under one of the keys. All have the HMAC's length. */
export function isMac(
  message: Uint8Array,
  signatures: readonly Buffer[],
  keys: readonly (string | Buffer)[],
  algorithm: keyof typeof HEX_DIGITS = "sha256",
): boolean {
  let authentic = false;
  for (const key of keys) {
    // An HMAC under an empty key proves nothing, because it needs no secret.
    if (key.length === 0) continue;
    const expected = createHmac(algorithm, key).update(message).digest();
    // No early exit: the duration must not reveal which key matched.
    for (const signature of signatures) authentic = isSameMac(signature, expected) || authentic;
  }
  return authentic;
}

/**
 * Whether an `X-Timestamp` (seconds since the epoch, or ISO 8601 with a zone) is within five minutes of now, in either
 * direction. A webhook without it passes: its own reference prevents double counting.
 */
export function isTimely(header: string | undefined, nowMs: number): boolean {
  if (header === undefined) return true;
  const sentMs = SECONDS.test(header) ? Number(header) * 1000 : parseTimestamp(header);
  return sentMs !== undefined && Math.abs(nowMs - sentMs) <= REPLAY_WINDOW_MS;
}

/** The `X-Signature` that a provider would send with these bytes. */
export function signBody(rawBody: Uint8Array, secret: string): string {
  return createHmac("sha256", secret).update(rawBody).digest("hex");
}
