/**
 * A trade's tag as the hedge of a leveraged position that is held elsewhere. A type and no interface, so that the
 * compiler knows it to be plain JSON.
 */
export type HedgeRef = {
  /** Upper case. */
  symbol: string;
  direction: "long" | "short";
  /** Cents. */
  notional: number;
  externalRef: string;
};
