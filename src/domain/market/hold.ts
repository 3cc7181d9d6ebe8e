/** Why a market whose time has come is not settled by the oracle. Stable words: audit entries hold them. */
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
