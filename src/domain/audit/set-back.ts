import type { AuditEntry, ChainPoint } from "./audit-link.ts";
import type { AuditPayloads, AuditType } from "./audit-payloads.ts";

/** The entry of an accepted rollback. */
export const ROLLBACK_TYPE = "rollback.accepted" satisfies AuditType;

/** An entry that the log is known to have held. */
export interface KnownAnchor extends ChainPoint {
  /** The entry's own time; undefined for a source that keeps number and hash only. */
  ts?: string | undefined;
  /** Where it is kept, in words. */
  source: string;
}

/** What the log holds at the anchors' places, read in one snapshot. */
interface AnchoredLog {
  head: ChainPoint;
  /** Hashes by seq; a place without a hash has no row. */
  hashes: ReadonlyMap<bigint, string>;
}

/** An entry `rollback.accepted` whose seal was checked. */
export interface Rollback {
  /** The entry's own time. */
  ts: string;
  anchorSeq: bigint;
  anchorHash: string;
}

/** The rollback of an entry {@link ROLLBACK_TYPE} whose seal the caller has checked, so pmctl wrote its payload. */
export function rollbackOf({ ts, payloadText }: Pick<AuditEntry, "ts" | "payloadText">): Rollback {
  const { anchorSeq, anchorHash } = JSON.parse(payloadText) as AuditPayloads[typeof ROLLBACK_TYPE];
  return { ts, anchorSeq: BigInt(anchorSeq), anchorHash };
}

/** A log that does not hold what it is known to have held. */
export interface SetBack {
  /** The newest anchor that the log does not hold. */
  anchor: KnownAnchor;
  head: ChainPoint;
  /** How many entries are gone, at the least. */
  lost: bigint;
}

/** Anchors beyond the head, or at an entry with another hash. A missing row is a gap, which is another problem. */
export function anchorsNotHeld(known: readonly KnownAnchor[], { head, hashes }: AnchoredLog): KnownAnchor[] {
  return known.filter(({ seq, hash }) => seq > head.seq || (hashes.get(seq) ?? hash) !== hash);
}

/**
 * Which of the anchors that the log does not hold still count: all that no operator has given up.
 *
 * An accepted rollback gives up the anchor that it names, and the earlier ones of the same lost branch. Their time
 * tells them: on the branch that goes on, every entry from the rollback on is at least as late as the rollback, so a
 * recorded rollback never hides a later one. An anchor that is given up takes with it those that it outlived: times
 * never step back along a chain, so an older anchor of a higher entry belongs to a branch that was lost before.
 */
export function stillMissed(notHeld: readonly KnownAnchor[], rollbacks: readonly Rollback[]): KnownAnchor[] {
  const givenUp = notHeld.filter((each) => rollbacks.some((rollback) => givesUp(rollback, each)));
  return notHeld.filter((each) => !givenUp.includes(each) && !givenUp.some((later) => outlives(later, each)));
}

/** The newest of the anchors that the log does not hold, except for those that an operator has given up. */
export function newestNotHeld(
  notHeld: readonly KnownAnchor[],
  head: ChainPoint,
  rollbacks: readonly Rollback[],
): SetBack | undefined {
  const missed = stillMissed(notHeld, rollbacks);
  const anchor = newestOf(missed);
  if (!anchor) return undefined;
  const outlived = missed.filter((each) => outlives(anchor, each));
  const branch = missed.filter(
    (each) => each.seq <= anchor.seq && !outlived.some((other) => other === each || !isLater(each, other)),
  );
  // Hashes that differ once differ from there on, so the log forked at the first missing anchor or before it.
  const firstGone = branch.reduce((first, { seq }) => (seq < first ? seq : first), head.seq + 1n);
  return { anchor, head, lost: anchor.seq >= firstGone ? anchor.seq - firstGone + 1n : 1n };
}

/**
 * The anchor that was made last, by its entry's time: an older one may name a higher entry of a branch that was given
 * up. Anchors without a time are compared by their entry's number.
 */
export function newestOf<Anchor extends KnownAnchor>(anchors: readonly Anchor[]): Anchor | undefined {
  const [dated, undated] = [anchors.filter(({ ts }) => ts !== undefined), anchors.filter(({ ts }) => ts === undefined)];
  const newest = dated.reduce<Anchor | undefined>(
    (last, each) => (last && !isLater(each, last) ? last : each),
    undefined,
  );
  return undated.reduce((high, each) => (high && high.seq >= each.seq ? high : each), newest);
}

function isLater(one: KnownAnchor, other: KnownAnchor): boolean {
  const [a, b] = [one.ts ?? "", other.ts ?? ""];
  return a === b ? one.seq > other.seq : a > b;
}

/** Whether the later anchor's branch went on after the earlier one's, which had come at least as far, was lost. */
function outlives(later: KnownAnchor, earlier: KnownAnchor): boolean {
  if (later.ts === undefined || earlier.ts === undefined) return false;
  return earlier.seq >= later.seq && earlier.ts < later.ts;
}

function givesUp({ anchorSeq, anchorHash, ts }: Rollback, anchor: KnownAnchor): boolean {
  if (anchor.seq === anchorSeq && anchor.hash === anchorHash) return true;
  return anchor.seq <= anchorSeq && (anchor.ts === undefined || anchor.ts < ts);
}

/** One sentence for people. It does not say where the anchor is kept, as that may be a path of the server. */
export function describeSetBack({ anchor, head, lost }: SetBack): string {
  const gone = `at least ${lost === 1n ? "1 entry is" : `${lost} entries are`} gone`;
  return anchor.seq > head.seq
    ? `the log was set back: it ends at entry ${head.seq}, and had reached ${anchor.seq}; ${gone}`
    : `the log was set back: entry ${anchor.seq} is not the one that it held; ${gone}`;
}
