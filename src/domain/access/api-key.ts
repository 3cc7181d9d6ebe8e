import { createHash } from "node:crypto";

/** The SHA-256 under which an API key is stored: enough to recognise the key, useless for sending requests. */
export function hashApiKey(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

/** The short name of a key in plans, lists, answers and logs: the first digits of its stored hash. */
export function keyFingerprint(hash: string): string {
  return `fp:${hash.slice(0, 8)}`;
}
