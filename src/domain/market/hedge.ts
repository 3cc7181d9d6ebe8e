/**
 * Marks a trade as the hedge of a leveraged position held elsewhere. A type instead of an interface, so that the
 * compiler accepts it as JSON.
 */
export type HedgeRef = {
  /** Upper case. */
  symbol: string;
  direction: "long" | "short";
  /** Cents. */
  notional: number;
  externalRef: string;
};
