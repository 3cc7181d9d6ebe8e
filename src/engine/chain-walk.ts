import { GENESIS_HASH } from "../domain/audit-link.ts";
import { type AuditKey, auditHash } from "./seal.ts";

/** An entry as verification wants it: the lines that its hash covers (`auditLines`), ready made. */
export interface SealedLines {
  lines: string;
  hash: string;
}

/** A place in the chain. Its hash pins every entry up to it. */
export interface ChainPoint {
  seq: bigint;
  hash: string;
}

/** The first entry that does not hold, and why. */
export interface ChainBreak {
  seq: bigint;
  problem: string;
  /** The hash that stands there. */
  stored?: string;
  /** The hash that should stand there. */
  computed?: string;
}

export const GENESIS: ChainPoint = { seq: 0n, hash: GENESIS_HASH };

/** Follows the chain entry by entry. One instance verifies one chain, front to back. */
export class ChainWalk {
  readonly #keys: Map<string, AuditKey>;
  #seq: bigint;
  #hash: string;

  /** @param from a point that is known to be good; the first entry's predecessor unless given */
  constructor(keys: readonly AuditKey[], from: ChainPoint = GENESIS) {
    this.#keys = new Map(keys.map((key) => [key.id, key]));
    this.#seq = from.seq;
    this.#hash = from.hash;
  }

  get seq(): bigint {
    return this.#seq;
  }

  /** The last entry that held. */
  get point(): ChainPoint {
    return { seq: this.#seq, hash: this.#hash };
  }

  /** @returns what is wrong with the next entry, or undefined when it holds. */
  follow({ lines, hash }: SealedLines): ChainBreak | undefined {
    const seq = this.#seq + 1n;
    const [keyId = "", text = ""] = lines.split("\n", 2);
    if (text !== String(seq)) return { seq, problem: `entry ${seq} is missing` };
    const key = this.#keys.get(keyId);
    if (!key) return { seq, problem: `entry ${seq} is sealed with the key ${keyId}, which is not among those given` };
    const computed = auditHash(key, this.#hash, lines);
    if (computed !== hash)
      return { seq, problem: `entry ${seq} or its link to the one before was altered`, stored: hash, computed };
    this.#hash = hash;
    this.#seq = seq;
    return undefined;
  }
}

export interface WalkOptions {
  keys: readonly AuditKey[];
  /** Where to begin; the first entry unless given. */
  from?: ChainPoint | undefined;
  /** Where the chain is said to end. Entries after it are newer than the question. */
  head?: ChainPoint | undefined;
  /** Places that the chain must go through: hashes by seq, as receipts hold them. */
  anchors?: ReadonlyMap<bigint, string> | undefined;
  /** Awaited after each page, so it can slow the walk down. */
  onPage?: ((seq: bigint) => void | Promise<void>) | undefined;
}

export interface Walked {
  /** The last entry that held. */
  end: ChainPoint;
  broken?: ChainBreak;
}

/**
 * Verifies the entries after `from`, wherever they come from.
 * @param pages in order, from the entry after `from`
 */
export async function walkChain(
  pages: AsyncIterable<readonly SealedLines[]>,
  { keys, from = GENESIS, head, anchors = new Map(), onPage }: WalkOptions,
): Promise<Walked> {
  const walk = new ChainWalk(keys, from);
  if (head === undefined || head.seq > from.seq)
    for await (const page of pages) {
      for (const entry of page) {
        const broken = walk.follow(entry) ?? (anchors.size > 0 ? missedAnchor(walk.point, anchors) : undefined);
        if (broken) return { end: walk.point, broken };
        if (walk.seq === head?.seq) break;
      }
      await onPage?.(walk.seq);
      if (walk.seq === head?.seq) break;
    }
  const broken = missedHead(walk.point, head) ?? cutAnchor(walk.point, anchors);
  return { end: walk.point, ...(broken ? { broken } : {}) };
}

function missedAnchor({ seq, hash }: ChainPoint, anchors: ReadonlyMap<bigint, string>): ChainBreak | undefined {
  const kept = anchors.get(seq);
  if (kept === undefined || kept === hash) return undefined;
  return { seq, problem: `entry ${seq} is not the one that its receipt was given for`, stored: hash, computed: kept };
}

function missedHead({ seq, hash }: ChainPoint, head: ChainPoint | undefined): ChainBreak | undefined {
  if (!head || (head.seq === seq && head.hash === hash)) return undefined;
  if (head.seq < seq) return { seq: head.seq + 1n, problem: `the chain ends at ${head.seq}, but had reached ${seq}` };
  if (head.seq > seq) return { seq: seq + 1n, problem: `entry ${seq + 1n} and all after it are missing` };
  return { seq: seq + 1n, problem: "the head row does not match the last entry", stored: head.hash, computed: hash };
}

function cutAnchor({ seq }: ChainPoint, anchors: ReadonlyMap<bigint, string>): ChainBreak | undefined {
  const beyond = [...anchors.keys()].find((anchored) => anchored > seq);
  if (beyond === undefined) return undefined;
  return { seq: seq + 1n, problem: `there is a receipt for entry ${beyond}, but the chain ends at ${seq}` };
}
