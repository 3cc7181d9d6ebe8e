import type { MarketKind } from "../domain/market.ts";
import type { WireResult } from "./operations.ts";

/** What a frame's document holds for its script: everything that the view shows at first, so that it need not ask. */
export interface FrameData {
  view: "market" | "markets" | "portfolio";
  /** The tenant's name. */
  name: string;
  /** A public key; null when the tenant has none that is valid, and the view can only be looked at. */
  apiKey: string | null;
  /** Origins whose pages may trade here. */
  tradeOrigins: readonly string[];
  /** Milliseconds since the epoch, by the server: pages count down with it whatever their own clock says. */
  now: number;
  limits: { feeBps: number; maxTradeUsd: number; suitabilityRequired: boolean };
  market?: FrameMarket;
  markets?: WireResult<"listMarkets">["items"];
  /** Recent YES prices of the markets that traded, oldest first, millionths. */
  sparks?: Record<string, number[]>;
  trending?: WireResult<"listTrendingMarkets">;
  /** Why there is nothing to show. */
  error?: string;
}

export interface FrameMarket {
  detail: WireResult<"getMarket">;
  history: WireResult<"getMarketHistory">;
  /** How its prices are made, so that the page can quote with the engine's own maths. */
  terms: { kind: MarketKind; p0Ppm: number; fundMicro: string; yesMicro: string; noMicro: string };
}
