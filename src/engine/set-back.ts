import type { AuditEntry } from "../domain/audit-link.ts";
import type { ChainPoint } from "./chain-walk.ts";

/** The entry that puts an accepted rollback on record. */
export const ROLLBACK_TYPE = "rollback.accepted";

/** An entry that the log is known to have held. */
export interface KnownAnchor extends ChainPoint {
  /** The entry's own time; undefined where whoever remembers it did not keep that. */
  ts?: string | undefined;
  /** Who remembers it, in words. */
  source: string;
}

/** What the log says at the places that anchors name, all of one moment. */
export interface AnchoredLog {
  head: ChainPoint;
  /** Hashes by seq; a place without one has no row. */
  hashes: ReadonlyMap<bigint, string>;
}

/** An entry `rollback.accepted` whose seal was checked. */
export interface Rollback {
  /** The entry's own time. */
  ts: string;
  anchorSeq: bigint;
  anchorHash: string;
}

/** What an entry {@link ROLLBACK_TYPE} gives up. The caller has checked its seal, so its payload is our own. */
export function rollbackOf({ ts, payloadText }: Pick<AuditEntry, "ts" | "payloadText">): Rollback {
  const { anchorSeq, anchorHash } = JSON.parse(payloadText) as { anchorSeq: number; anchorHash: string };
  return { ts, anchorSeq: BigInt(anchorSeq), anchorHash };
}

/** A log that does not hold what it is known to have held. */
export interface SetBack {
  /** The newest anchor that the log does not hold. */
  anchor: KnownAnchor;
  head: ChainPoint;
  /** At least so many entries are gone. */
  lost: bigint;
}

/** Anchors beyond the head, or at an entry with another hash. A missing row is a gap, which is another problem. */
export function anchorsNotHeld(known: readonly KnownAnchor[], { head, hashes }: AnchoredLog): KnownAnchor[] {
  return known.filter(({ seq, hash }) => seq > head.seq || (hashes.get(seq) ?? hash) !== hash);
}

/**
 * The newest of the anchors that the log does not hold, except for those that an operator has given up.
 *
 * An accepted rollback gives up the anchor that it names, and of the earlier ones those of the same lost branch. They are
 * told by their time: on the branch that goes on, every entry from the rollback's own on is at least as late as it is, so
 * a rollback on record never hides a later one.
 */
export function newestNotHeld(
  notHeld: readonly KnownAnchor[],
  head: ChainPoint,
  rollbacks: readonly Rollback[],
): SetBack | undefined {
  const anchor = notHeld
    .filter((each) => !rollbacks.some((rollback) => givesUp(rollback, each)))
    .reduce<KnownAnchor | undefined>((newest, each) => (newest && newest.seq >= each.seq ? newest : each), undefined);
  if (!anchor) return undefined;
  const lost = anchor.seq > head.seq ? anchor.seq - head.seq : 1n;
  return { anchor, head, lost };
}

function givesUp({ anchorSeq, anchorHash, ts }: Rollback, anchor: KnownAnchor): boolean {
  if (anchor.seq === anchorSeq && anchor.hash === anchorHash) return true;
  return anchor.seq <= anchorSeq && (anchor.ts === undefined || anchor.ts < ts);
}

/** One sentence for people. */
export function describeSetBack({ anchor, head }: SetBack): string {
  const { seq, source } = anchor;
  return seq > head.seq
    ? `the log was set back: it ends at entry ${head.seq}, and had reached ${seq} (${source})`
    : `the log was set back: entry ${seq} is not the one that it held (${source})`;
}
