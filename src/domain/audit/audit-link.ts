/**
 * The audit chain's text format. It is fixed: a changed byte here forks every tenant's history, so a
 * vector in the tests pins it. The HMAC itself is computed where node:crypto may be imported.
 */
export interface AuditEntry {
  seq: bigint;
  type: string;
  actor: string;
  /** The exact stored text of the payload: one line of canonical JSON. */
  payloadText: string;
  /** ISO 8601, exactly as hashed. */
  ts: string;
  keyId: string;
  hash: string;
}

/**
 * What an entry says. A text that is no object of JSON, which only a row that was changed holds, says nothing: showing the
 * entry must not fail, and verification names it.
 */
export function payloadOf({ payloadText }: Pick<AuditEntry, "payloadText">): { [field: string]: unknown } {
  try {
    const payload: unknown = JSON.parse(payloadText);
    return typeof payload === "object" && payload !== null && !Array.isArray(payload) ? { ...payload } : {};
  } catch {
    return {};
  }
}

/** A place in the chain. Its hash pins every entry up to it. */
export interface ChainPoint {
  seq: bigint;
  hash: string;
}

/** An entry's place in the chain. Its hash covers every entry before it, so to know one is to pin them all. */
export type Seal = Pick<AuditEntry, "seq" | "hash" | "ts" | "keyId">;

/**
 * What can be wrong with a log as a whole: an entry was altered; entries are missing; rows stand after the head; the head
 * row is missing; the log does not hold an entry that it is known to have held.
 */
export const CHAIN_PROBLEMS = ["broken", "gap", "beyond-head", "head-missing", "set-back"] as const;
export type ChainProblem = (typeof CHAIN_PROBLEMS)[number];

/** The previous hash of the first entry. */
export const GENESIS_HASH = "0".repeat(64);

/** What the HMAC covers of the entry itself. No field but the last can hold a newline, so the lines cannot be shifted. */
export function auditLines({ keyId, seq, ts, type, actor, payloadText }: Omit<AuditEntry, "hash">): string {
  return `${keyId}\n${seq}\n${ts}\n${type}\n${actor}\n${payloadText}`;
}

/** The text that the HMAC covers: a name for the format, the previous link, the entry. */
export function auditPreimage(previousHash: string, lines: string): string {
  return `pmctl-audit-v1\n${previousHash}\n${lines}`;
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json | undefined };

/** One line of JSON, keys sorted by code unit at every level, no spaces, undefined entries left out. */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  let entries = "";
  for (const key of Object.keys(value).sort()) {
    const entry = value[key];
    if (entry !== undefined) entries += `${entries === "" ? "" : ","}${JSON.stringify(key)}:${canonicalJson(entry)}`;
  }
  return `{${entries}}`;
}

/** Equal as values, however their keys are ordered. */
export function isSame(a: Json, b: Json): boolean {
  return canonicalJson(a) === canonicalJson(b);
}
