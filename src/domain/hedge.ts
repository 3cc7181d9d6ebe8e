/** A trade's tag as the hedge of a leveraged position that is held elsewhere. */
export interface HedgeRef {
  /** Upper case. */
  symbol: string;
  direction: "long" | "short";
  /** Cents. */
  notional: number;
  externalRef: string;
}
