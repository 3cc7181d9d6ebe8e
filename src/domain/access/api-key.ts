import { createHash } from "node:crypto";

/** What is stored of an API key: it can be compared, not used. */
export function hashApiKey(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

/** The beginning of what is stored of a key, by which plans, lists and answers name it. */
export function keyFingerprint(hash: string): string {
  return `fp:${hash.slice(0, 8)}`;
}
