/** Why the oracle does not settle a due market. Audit entries contain these words, so they never change. */
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
