import { type AuditEntry, GENESIS_HASH } from "../domain/audit-link.ts";
import { type AuditKey, auditHash } from "../engine/seal.ts";
import type { Sql } from "../store/connect.ts";
import { readAuditHead, readAuditRange } from "../store/queries/audit.ts";

const PAGE = 5000;

export interface Verification {
  verified: boolean;
  /** Hash of the latest entry, 64 zeros before the first. */
  head: string;
  count: bigint;
  /** The first entry that does not hold, and why. */
  broken?: { seq: bigint; problem: string };
}

/** Follows the chain entry by entry. One instance verifies one chain, front to back. */
export class ChainWalk {
  readonly #keys: Map<string, AuditKey>;
  #hash = GENESIS_HASH;
  #seq = 0n;

  constructor(keys: AuditKey[]) {
    this.#keys = new Map(keys.map((key) => [key.id, key]));
  }

  get hash(): string {
    return this.#hash;
  }

  get seq(): bigint {
    return this.#seq;
  }

  /** @returns what is wrong with the next entry, or undefined when it holds. */
  follow(entry: AuditEntry): string | undefined {
    if (entry.seq !== this.#seq + 1n) return `entry ${this.#seq + 1n} is missing`;
    const key = this.#keys.get(entry.keyId);
    if (!key) return `sealed with the unknown key ${entry.keyId}`;
    if (auditHash(key, this.#hash, entry) !== entry.hash) return "the entry was altered, or the one before it was";
    this.#hash = entry.hash;
    this.#seq = entry.seq;
    return undefined;
  }
}

/** Verifies the whole chain against its key and the head row, which makes a cut tail visible. */
export async function verifyChain(
  sql: Sql,
  keys: AuditKey[],
  onProgress?: (seq: bigint) => void,
): Promise<Verification> {
  const head = await readAuditHead(sql);
  const walk = new ChainWalk(keys);
  const broken = (seq: bigint, problem: string): Verification => ({
    verified: false,
    head: head.hash,
    count: head.seq,
    broken: { seq, problem },
  });
  while (walk.seq < head.seq) {
    const entries = await readAuditRange(sql, walk.seq + 1n, PAGE);
    if (entries.length === 0) return broken(walk.seq + 1n, "the end of the chain is missing");
    for (const entry of entries) {
      // Entries written since the head was read are not part of this verification.
      if (walk.seq === head.seq) break;
      const problem = walk.follow(entry);
      if (problem) return broken(entry.seq, problem);
    }
    onProgress?.(walk.seq);
  }
  if (walk.hash !== head.hash) return broken(head.seq, "the head row does not match the last entry");
  return { verified: true, head: head.hash, count: head.seq };
}
