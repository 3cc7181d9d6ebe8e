import { GENESIS_HASH } from "../domain/audit-link.ts";
import { type AuditKey, auditHash } from "../engine/seal.ts";
import type { Sql } from "../store/connect.ts";
import { readAuditHead, readSealedLines, type SealedLines } from "../store/queries/audit.ts";

/** A page fits into a socket's buffer, so the database can be a page ahead; hashing it takes about a millisecond. */
const PAGE = 400;

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

  /** @param after where to begin: an entry that is taken on trust */
  constructor(keys: AuditKey[], after?: { seq: bigint; hash: string }) {
    this.#keys = new Map(keys.map((key) => [key.id, key]));
    if (after) [this.#seq, this.#hash] = [after.seq, after.hash];
  }

  get hash(): string {
    return this.#hash;
  }

  get seq(): bigint {
    return this.#seq;
  }

  /** @returns what is wrong with the next entry, or undefined when it holds. */
  follow({ lines, hash }: SealedLines): string | undefined {
    const [keyId = "", seq = ""] = lines.split("\n", 2);
    const expected = this.#seq + 1n;
    if (seq !== String(expected)) return `entry ${expected} is missing`;
    const key = this.#keys.get(keyId);
    if (!key) return `entry ${expected} is sealed with an unknown key`;
    if (auditHash(key, this.#hash, lines) !== hash)
      return `entry ${expected} or its link to the one before was altered`;
    this.#hash = hash;
    this.#seq = expected;
    return undefined;
  }
}

/** Verifies the whole chain against its keys and the head row, which makes a cut tail visible. */
export async function verifyChain(
  sql: Sql,
  keys: AuditKey[],
  onProgress?: (seq: bigint) => void,
): Promise<Verification> {
  const head = await readAuditHead(sql);
  const walk = new ChainWalk(keys);
  const broken = (problem: string): Verification => ({
    verified: false,
    head: head.hash,
    count: head.seq,
    broken: { seq: walk.seq + 1n, problem },
  });
  // Two pages ahead: the database prepares them while this one is being hashed.
  const readPage = (from: bigint) => {
    const page = readSealedLines(sql, from, PAGE);
    page.catch(() => {});
    return page;
  };
  const pages = [readPage(1n), readPage(1n + BigInt(PAGE))];
  for (let from = 1n; walk.seq < head.seq; from += BigInt(PAGE)) {
    const page = await (pages.shift() as Promise<SealedLines[]>);
    pages.push(readPage(from + 2n * BigInt(PAGE)));
    if (page.length === 0) return broken(`entry ${walk.seq + 1n} and all after it are missing`);
    for (const entry of page) {
      // Entries written since the head was read are not part of this verification.
      if (walk.seq === head.seq) break;
      const problem = walk.follow(entry);
      if (problem) return broken(problem);
    }
    onProgress?.(walk.seq);
  }
  if (walk.hash !== head.hash) return broken("the head row does not match the last entry");
  return { verified: true, head: head.hash, count: head.seq };
}

/** What a look at the newest entries found. */
export interface TailVerification {
  checked: number;
  /** What does not hold. */
  broken?: string;
}

/** Verifies the newest entries only, up to the head row; the entry before them is taken on trust. */
export async function verifyTail(sql: Sql, keys: AuditKey[], limit: number): Promise<TailVerification> {
  const head = await readAuditHead(sql);
  const first = head.seq > BigInt(limit) ? head.seq - BigInt(limit) + 1n : 1n;
  const [anchor] = first > 1n ? await readSealedLines(sql, first - 1n, 1) : [];
  if (first > 1n && !anchor) return { checked: 0, broken: `entry ${first - 1n} is missing` };
  const walk = new ChainWalk(keys, anchor && { seq: first - 1n, hash: anchor.hash });
  for (const entry of await readSealedLines(sql, first, limit)) {
    if (walk.seq === head.seq) break;
    const broken = walk.follow(entry);
    if (broken) return { checked: Number(walk.seq - first + 1n), broken };
  }
  const checked = Number(walk.seq - first + 1n);
  if (walk.seq !== head.seq) return { checked, broken: `entry ${walk.seq + 1n} and all after it are missing` };
  return walk.hash === head.hash ? { checked } : { checked, broken: "the head row does not match the last entry" };
}
