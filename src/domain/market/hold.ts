/** Why the oracle does not settle a market that is due. Audit entries hold these words, so they never change. */
export type HoldReason =
  | "feed down"
  | "stale"
  | "no quorum"
  | "spread"
  | "out of bounds"
  | "jump"
  | "confidence"
  | "window sparse"
  | "session closed"
  | "feed unknown"
  | "feed changed"
  | "resolution_url failed";
