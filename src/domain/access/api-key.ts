import { createHash } from "node:crypto";

/** The SHA-256 by which an API key is stored: it can be compared, but not used. */
export function hashApiKey(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

/** The name of a key in plans, lists, answers and logs: the first digits of its stored hash. */
export function keyFingerprint(hash: string): string {
  return `fp:${hash.slice(0, 8)}`;
}
