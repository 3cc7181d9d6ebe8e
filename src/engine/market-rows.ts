import type { Mechanism, StoredStatus } from "../domain/market/market.ts";
import type { Outcome } from "../domain/market/outcome.ts";
import type { Pool } from "../domain/market/pool.ts";
import type { HourSums } from "../domain/market/running-sums.ts";
import type { OwnTerms } from "../domain/policy/approvals.ts";

/** A row that changes has the version at which it was read, 0 before it exists. The store writes `version + 1`, guarded. */
export interface Versioned {
  version: number;
}

/** The terms of a market. They never change, so the row has no version. */
export interface Market extends Mechanism {
  id: string;
  question: string;
  category: string;
  closeAt: number;
  resolutionRef: string;
  /** Canonical JSON. */
  meta: string;
  createdAt: number;
  /** The key at creation; null for none. Later keys from files are only in the audit log. */
  fileKey: string | null;
  /** The house's own shares: the part of the F complete sets that the opening pool left over. */
  houseYesMicro: bigint;
  houseNoMicro: bigint;
  /** What settles the market automatically, canonical JSON; null if a person must settle it. */
  terms: string | null;
  /** The market's own rules for its end; null for those of the tenant. */
  resolution: OwnTerms | null;
}

/** The changing part of a market: its pool, status and volume, and the sums of the hour of its last trade. */
export interface MarketState extends Versioned, Pool, HourSums {
  marketId: string;
  status: StoredStatus;
  /** Gross amounts traded, fees included. */
  volumeMicro: bigint;
  /** As last decided. */
  outcome: Outcome | null;
  /** When it was first decided. */
  settledAt: number | null;
  /** Whether the audit log contains the market's closing. */
  closingRecorded: boolean;
}

/** A text that explains a market's rules. Texts are added and never change. */
export interface Clarification {
  marketId: string;
  /** 1 for the market's first text. */
  position: number;
  id: string;
  text: string;
  at: number;
}

/**
 * The end of a settled market that no side won alone, or whose outcome was corrected, in micro-dollars. The outcome is in
 * the market's state; what another market paid follows from its positions.
 */
export interface MarketEnd extends Versioned {
  marketId: string;
  /** Positions that were paid more than 0, and what they were paid in all. */
  payouts: number;
  paidMicro: bigint;
  /** The part of it that came from the house's fees. */
  feesMicro: bigint;
  /** What the treasury got; negative for what it added. */
  treasuryMicro: bigint;
  /** Why the market was voided at first; null for another end. */
  reason: string | null;
  /** Oldest first. */
  corrections: readonly { from: Outcome; to: Outcome; at: number; reason: string }[];
}

/** The oracle's state of a market that it may settle. */
export interface Watch extends Versioned {
  marketId: string;
  /** The instant whose price decides the market, milliseconds since 1970. */
  instantAt: number;
  /** Whether the reference was parsed. False for a market that only `resolution_url` can settle. */
  parsed: boolean;
  settled: boolean;
  /** Why the oracle leaves the market to a person; null if it does not. */
  hold: { reason: string; detail: string; at: number } | null;
}

/** The fees within a position's cost. Derived from the trades, not stored; loaded for the ends that give fees back. */
export interface PositionFee {
  feeMicro: bigint;
}
