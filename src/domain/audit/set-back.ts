import { counted } from "../text.ts";
import type { AuditEntry, ChainPoint } from "./audit-link.ts";
import type { AuditPayloads, AuditType } from "./audit-payloads.ts";

/** The entry of an accepted rollback. */
export const ROLLBACK_TYPE = "rollback.accepted" satisfies AuditType;

/** An entry that the log is known to have contained. */
export interface KnownAnchor extends ChainPoint {
  /** The entry's own time; undefined if the source stores only number and hash. */
  ts?: string | undefined;
  /** The key that sealed the entry; only a receipt states it. */
  keyId?: string | undefined;
  /** A description of where the anchor is stored. */
  source: string;
}

/** What the log says of an anchor: it has the entry, lacks it, or lacks it with an operator's consent. */
export const ANCHOR_STANDINGS = ["held", "missing", "given up"] as const;
export type AnchorStanding = (typeof ANCHOR_STANDINGS)[number];

/** The log's entries at the anchors' positions, read in one snapshot. */
interface AnchoredLog {
  head: ChainPoint;
  /** Hashes by seq; a seq without a hash has no row. */
  hashes: ReadonlyMap<bigint, string>;
}

/** An entry `rollback.accepted` with a verified seal. */
export interface Rollback {
  /** The entry's own time. */
  ts: string;
  anchorSeq: bigint;
  anchorHash: string;
}

/** The rollback in an entry {@link ROLLBACK_TYPE}. The caller has checked its seal, so pmctl wrote its payload. */
export function rollbackOf({ ts, payloadText }: Pick<AuditEntry, "ts" | "payloadText">): Rollback {
  const { anchorSeq, anchorHash } = JSON.parse(payloadText) as AuditPayloads[typeof ROLLBACK_TYPE];
  return { ts, anchorSeq: BigInt(anchorSeq), anchorHash };
}

/** The missing part of a log that was set back. */
export interface SetBack {
  /** The newest anchor that the log does not contain. */
  anchor: KnownAnchor;
  head: ChainPoint;
  /** The smallest possible number of missing entries. */
  lost: bigint;
}

/** Anchors beyond the head, or at an entry with another hash. A missing row is a gap, which is another problem. */
export function anchorsNotHeld(known: readonly KnownAnchor[], { head, hashes }: AnchoredLog): KnownAnchor[] {
  return known.filter(({ seq, hash }) => seq > head.seq || (hashes.get(seq) ?? hash) !== hash);
}

/**
 * The missing anchors that still count: all that no operator has given up.
 *
 * An accepted rollback gives up the anchor that it names, and earlier anchors of the same lost branch. Times identify
 * them: on the continuing branch, every entry from the rollback on is at least as late as the rollback, so a recorded
 * rollback never hides a later one. Giving up an anchor also gives up those that it outlived: times never decrease
 * along a chain, so an older anchor of a higher entry belongs to a branch that was lost earlier.
 */
export function stillMissed(notHeld: readonly KnownAnchor[], rollbacks: readonly Rollback[]): KnownAnchor[] {
  const givenUp = notHeld.filter((each) => rollbacks.some((rollback) => givesUp(rollback, each)));
  return notHeld.filter((each) => !givenUp.includes(each) && !givenUp.some((later) => outlives(later, each)));
}

/** The newest missing anchor that no operator has given up. */
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
  // Hashes that differ once differ from then on, so the log forked at the first missing anchor or before it.
  const firstGone = branch.reduce((first, { seq }) => (seq < first ? seq : first), head.seq + 1n);
  return { anchor, head, lost: anchor.seq >= firstGone ? anchor.seq - firstGone + 1n : 1n };
}

/**
 * The latest anchor by its entry's time: an older anchor may name a higher entry of an abandoned branch. Anchors
 * without a time are compared by their entry's number.
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

/** Whether the later anchor's branch continued after the loss of the earlier anchor's branch, which was at least as long. */
function outlives(later: KnownAnchor, earlier: KnownAnchor): boolean {
  if (later.ts === undefined || earlier.ts === undefined) return false;
  return earlier.seq >= later.seq && earlier.ts < later.ts;
}

function givesUp({ anchorSeq, anchorHash, ts }: Rollback, anchor: KnownAnchor): boolean {
  if (anchor.seq === anchorSeq && anchor.hash === anchorHash) return true;
  return anchor.seq <= anchorSeq && (anchor.ts === undefined || anchor.ts < ts);
}

/** One sentence for people. It omits where the anchor is stored, which may be a path of the server. */
export function describeSetBack({ anchor, head, lost }: SetBack): string {
  const gone = `at least ${counted(lost, "entry is", "entries are")} gone`;
  return anchor.seq > head.seq
    ? `the log was set back: it ends at entry ${head.seq}, and had reached ${anchor.seq}; ${gone}`
    : `the log was set back: entry ${anchor.seq} is not the entry that it contained; ${gone}`;
}
