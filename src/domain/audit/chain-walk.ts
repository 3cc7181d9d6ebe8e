import { Fault } from "../fault.ts";
import { type ChainPoint, GENESIS_HASH, type IntegrityProblem } from "./audit-link.ts";
import { type AuditKey, auditHash } from "./seal.ts";
import {
  anchorsNotHeld,
  describeSetBack,
  type KnownAnchor,
  newestNotHeld,
  ROLLBACK_TYPE,
  type Rollback,
  rollbackOf,
  type SetBack,
} from "./set-back.ts";

/** An entry in the form that verification reads: the lines that its hash covers (`auditLines`), and the hash. */
export interface SealedLines {
  lines: string;
  hash: string;
}

/** The first entry that fails verification, and why. */
export interface ChainBreak {
  kind: IntegrityProblem;
  seq: bigint;
  problem: string;
  /** The stored hash. */
  stored?: string;
  /** The hash that it should be. */
  computed?: string;
  /** The id of an unknown key, if that shows that the given keys belong to another log. */
  sealedWith?: string;
  /** Where the missing anchor is stored. It may be a file of this machine, so the server never sends it to callers. */
  source?: string;
}

/** The problem for the operator of this machine, who may see where an anchor is stored. */
export function operatorText({ problem, source }: ChainBreak): string {
  return source === undefined ? problem : `${problem} (${source})`;
}

/** The error for keys of another log, which is no evidence against the log itself. @param problem naming both keys */
export function otherKeyFault(problem: string): Fault {
  return new Fault(
    "CONFIG_INVALID",
    `The audit key belongs to another log: ${problem}. Restore the key's value where audit.key reads it, or list a replaced key under audit.previous`,
    { detail: { place: OTHER_KEY } },
  );
}

const OTHER_KEY = "audit.key";

/** Whether an error reports keys of another log. */
export function isOtherKeyFault(error: Fault): boolean {
  return error.detail.place === OTHER_KEY;
}

/**
 * Refuses the keys of another log. Under them no entry counts: keys would look revoked, and freezes lifted. A single
 * entry that names an unknown key was altered, which the walk of the chain reports.
 *
 * @param last the last two entries, newest first; fewer if the log is shorter
 * @throws Fault CONFIG_INVALID if none of the keys sealed one of them
 */
export function requireOurKeys(
  last: readonly { seq: bigint | number; keyId: string }[],
  keys: readonly AuditKey[],
): void {
  const given = keys.map(({ id }) => id);
  const [end] = last;
  if (end && !last.some(({ keyId }) => given.includes(keyId))) throw otherKeyFault(unknownKey(end, given));
}

function unknownKey({ seq, keyId }: { seq: bigint | number; keyId: string }, given: readonly string[]): string {
  return `entry ${seq} is sealed with the key ${keyId}, which is not among the given keys: ${given.join(", ")}`;
}

export const GENESIS: ChainPoint = { seq: 0n, hash: GENESIS_HASH };

/** Follows the chain entry by entry. One instance verifies one chain from front to back. */
class ChainWalk {
  readonly #keys: Map<string, AuditKey>;
  #seq: bigint;
  #hash: string;

  /** @param from a point that is known to be good */
  constructor(keys: readonly AuditKey[], from: ChainPoint) {
    this.#keys = new Map(keys.map((key) => [key.id, key]));
    this.#seq = from.seq;
    this.#hash = from.hash;
  }

  get seq(): bigint {
    return this.#seq;
  }

  /** The last verified entry. */
  get point(): ChainPoint {
    return { seq: this.#seq, hash: this.#hash };
  }

  /**
   * @param next the entry after it, if the caller has it
   * @returns the problem of the entry, or undefined if it is valid
   */
  follow({ lines, hash }: SealedLines, next?: SealedLines): ChainBreak | undefined {
    const seq = this.#seq + 1n;
    const [keyId = "", text = ""] = lines.split("\n", 2);
    if (text !== String(seq)) return { kind: "gap", seq, problem: `entry ${seq} is missing` };
    const key = this.#keys.get(keyId);
    if (!key) return this.#sealedElsewhere(seq, keyId, next);
    const computed = auditHash(key, this.#hash, lines);
    if (computed !== hash) {
      const problem = `entry ${seq} or its link to the one before was altered`;
      return { kind: "broken", seq, problem, stored: hash, computed };
    }
    this.#hash = hash;
    this.#seq = seq;
    return undefined;
  }

  /**
   * A single entry that names an unknown key was altered. If the next entry names the same key, or there is no other
   * entry, the given keys are wrong.
   */
  #sealedElsewhere(seq: bigint, keyId: string, next: SealedLines | undefined): ChainBreak {
    const isKey = next === undefined ? seq === 1n : next.lines.startsWith(`${keyId}\n`);
    const problem = unknownKey({ seq, keyId }, [...this.#keys.keys()]);
    return { kind: "broken", seq, problem, ...(isKey ? { sealedWith: keyId } : {}) };
  }
}

export interface WalkOptions {
  keys: readonly AuditKey[];
  /** A point that is known to be good; by default the first entry's predecessor. */
  from?: ChainPoint | undefined;
  /** The end of the chain according to the head row. Later entries are not verified. */
  head?: ChainPoint | undefined;
  /** Anchors after `from` that the chain must contain, unless a rollback among the walked entries gives them up. */
  anchors?: readonly KnownAnchor[] | undefined;
  /** Awaited after each page, so that it can slow the walk down. */
  onPage?: ((seq: bigint) => void | Promise<void>) | undefined;
}

export interface Walked {
  /** The last verified entry. */
  end: ChainPoint;
  broken?: ChainBreak;
}

/**
 * Verifies the entries after `from`.
 * @param pages in order, from the entry after `from`
 * @throws Fault USAGE when an anchor states another time or key than the entry that it names
 */
export async function walkChain(
  pages: AsyncIterable<readonly SealedLines[]>,
  { keys, from = GENESIS, head, anchors = [], onPage }: WalkOptions,
): Promise<Walked> {
  const walk = new ChainWalk(keys, from);
  const watched = new AnchorWatch(anchors.filter(({ seq }) => seq > from.seq));
  if (head === undefined || head.seq > from.seq)
    for await (const page of pages) {
      for (const [index, entry] of page.entries()) {
        const broken = walk.follow(entry, page[index + 1]);
        if (broken) return { end: walk.point, broken };
        watched.see(walk.point, entry);
        if (walk.seq === head?.seq) break;
      }
      await onPage?.(walk.seq);
      if (walk.seq === head?.seq) break;
    }
  const broken = missedHead(walk.point, head) ?? watched.missed(walk.point);
  if (!broken) watched.requireTrue();
  return { end: walk.point, ...(broken ? { broken } : {}) };
}

/** Collects the entries at the anchors' positions, and the rollbacks with which the log gives anchors up. */
class AnchorWatch {
  readonly #anchors: readonly KnownAnchor[];
  readonly #places: ReadonlySet<bigint>;
  readonly #hashes = new Map<bigint, string>();
  readonly #stated = new Map<bigint, Pick<KnownAnchor, "ts" | "keyId">>();
  readonly #rollbacks: Rollback[] = [];

  constructor(anchors: readonly KnownAnchor[]) {
    this.#anchors = anchors;
    this.#places = new Set(anchors.map(({ seq }) => seq));
  }

  /** @param entry an entry with a verified seal */
  see({ seq, hash }: ChainPoint, { lines }: SealedLines): void {
    if (this.#places.size === 0) return;
    const [keyId, , ts = "", type, , payloadText = ""] = lines.split("\n");
    if (this.#places.has(seq)) {
      this.#hashes.set(seq, hash);
      this.#stated.set(seq, { ts, keyId });
    }
    if (type === ROLLBACK_TYPE) this.#rollbacks.push(rollbackOf({ ts, payloadText }));
  }

  missed(head: ChainPoint): ChainBreak | undefined {
    const notHeld = anchorsNotHeld(this.#anchors, { head, hashes: this.#hashes });
    const setBack = newestNotHeld(notHeld, head, this.#rollbacks);
    return setBack && setBackBreak(setBack, this.#hashes.get(setBack.anchor.seq));
  }

  /** The hash covers time and key: an anchor with the entry's hash and another time or key was altered itself. */
  requireTrue(): void {
    for (const anchor of this.#anchors) {
      const entry = this.#stated.get(anchor.seq);
      if (!entry || this.#hashes.get(anchor.seq) !== anchor.hash) continue;
      for (const [field, word] of [
        ["ts", "time"],
        ["keyId", "key"],
      ] as const)
        if (anchor[field] !== undefined && anchor[field] !== entry[field])
          throw new Fault(
            "USAGE",
            `${anchor.source}, but with the ${word} ${anchor[field]}: the entry's ${word} is ${entry[field]}`,
          );
    }
  }
}

/**
 * The problem of a log that was set back, in the form of verification.
 * @param stored the hash at the anchor's position
 */
export function setBackBreak(setBack: SetBack, stored?: string | undefined): ChainBreak {
  const { anchor, head } = setBack;
  const seq = anchor.seq > head.seq ? head.seq + 1n : anchor.seq;
  const hashes = stored === undefined ? {} : { stored, computed: anchor.hash };
  return { kind: "set-back", seq, problem: describeSetBack(setBack), ...hashes, source: anchor.source };
}

function missedHead({ seq, hash }: ChainPoint, head: ChainPoint | undefined): ChainBreak | undefined {
  if (!head || (head.seq === seq && head.hash === hash)) return undefined;
  if (head.seq < seq)
    return { kind: "set-back", seq: head.seq + 1n, problem: `the chain ends at ${head.seq}, but had reached ${seq}` };
  if (head.seq > seq) return { kind: "gap", seq: seq + 1n, problem: `entry ${seq + 1n} and all after it are missing` };
  const problem = "the head row does not match the last entry";
  return { kind: "broken", seq, problem, stored: head.hash, computed: hash };
}
