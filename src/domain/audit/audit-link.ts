import { isMapping } from "../json/mapping.ts";

/**
 * An entry of the audit chain. Its text format is fixed: one changed byte would fork every tenant's history, so a test
 * vector pins it.
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
 * An entry's parsed payload. A text that is not a JSON object, which only a tampered row has, gives an empty payload:
 * displaying it must not fail, and verification reports it.
 */
export function payloadOf({ payloadText }: Pick<AuditEntry, "payloadText">): { [field: string]: unknown } {
  try {
    const payload: unknown = JSON.parse(payloadText);
    return isMapping(payload) ? { ...payload } : {};
  } catch {
    return {};
  }
}

/** A place in the chain. Its hash covers every entry up to it. */
export interface ChainPoint {
  seq: bigint;
  hash: string;
}

/** An entry's place in the chain. Its hash covers every entry before it. */
export type Seal = Pick<AuditEntry, "seq" | "hash" | "ts" | "keyId">;

/**
 * What prevents a server from becoming ready. In the log: an altered entry, missing entries, rows after the head, a
 * missing head row, or a lost entry that is known to have existed. And `ledger`: the tables differ from the recomputed
 * log.
 */
export const INTEGRITY_PROBLEMS = ["broken", "gap", "beyond-head", "head-missing", "set-back", "ledger"] as const;
export type IntegrityProblem = (typeof INTEGRITY_PROBLEMS)[number];

/** The previous hash of the first entry. */
export const GENESIS_HASH = "0".repeat(64);

/** The lines of an entry that its HMAC covers. Only the last can contain a newline, so lines cannot be shifted. */
export function auditLines({ keyId, seq, ts, type, actor, payloadText }: Omit<AuditEntry, "hash">): string {
  return `${keyId}\n${seq}\n${ts}\n${type}\n${actor}\n${payloadText}`;
}

/** The text that the HMAC covers: the format's name, the previous hash, the entry. */
export function auditPreimage(previousHash: string, lines: string): string {
  return `pmctl-audit-v1\n${previousHash}\n${lines}`;
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json | undefined };

/** One line of JSON without spaces: keys sorted by code unit at every level, undefined entries omitted. */
export function canonicalJson(value: Json): string {
  // Without sorting if the keys are already in order: four times as fast, and most entries are.
  if (isInOrder(value)) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  let entries = "";
  for (const key of Object.keys(value).sort()) {
    const entry = value[key];
    if (entry !== undefined) entries += `${entries === "" ? "" : ","}${JSON.stringify(key)}:${canonicalJson(entry)}`;
  }
  return `{${entries}}`;
}

/** Whether the keys are sorted at every level, in the order of enumeration, in which numbers come first. */
function isInOrder(value: Json): boolean {
  if (value === null || typeof value !== "object") return true;
  if (Array.isArray(value)) return value.every(isInOrder);
  let previous = "";
  for (const key in value) {
    const entry = value[key];
    if (key < previous || (entry !== undefined && !isInOrder(entry))) return false;
    previous = key;
  }
  return true;
}

/** Whether two values are equal, regardless of the order of keys. */
export function isSame(a: Json, b: Json): boolean {
  return canonicalJson(a) === canonicalJson(b);
}
