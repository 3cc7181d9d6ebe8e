import type { FaultCode } from "../../domain/fault.ts";
import type { MarketKind } from "../../domain/market/market.ts";
import type { WireResult } from "../operations.ts";

/** What a frame's document holds for its script: everything that the view shows at first, so that it need not ask. */
export interface FrameData {
  view: "market" | "markets" | "portfolio";
  /** The tenant's name. */
  name: string;
  /** A public key; null when the tenant has none that is valid, and the view can only be looked at. */
  apiKey: string | null;
  /** Whether the page around, as the loader named it, may trade. A browser shows this document to no other page then. */
  mayTrade: boolean;
  /** Milliseconds since the epoch, by the server: pages count down with it whatever their own clock says. */
  now: number;
  limits: { feeBps: number; maxTradeUsd: number };
  market?: FrameMarket;
  markets?: WireResult<"listMarkets">["items"];
  /** Where the next page of markets begins; null when these are all. */
  nextCursor?: string | null;
  /** Recent YES prices of the markets that traded, oldest first, millionths. */
  sparks?: Record<string, number[]>;
  trending?: WireResult<"listTrendingMarkets">;
}

/** What the document of a refusal holds. */
export interface RefusalData {
  code: FaultCode;
  message: string;
  /** Seconds after which it makes sense to try again; 0 when it does not. */
  retryAfterSec: number;
}

export interface FrameMarket {
  detail: WireResult<"getMarket">;
  /** YES prices and from when on they held, milliseconds since the epoch; thin enough for a chart. */
  history: [t: number, yes: number][];
  /** How its prices are made, so that the page can quote with the engine's own maths. */
  terms: { kind: MarketKind; p0Ppm: number; fundMicro: string; yesMicro: string; noMicro: string };
}

/** What the demo's page to try things holds. */
export interface PlaygroundData {
  apiKey: string;
  /** Tokens by user id, in the order of the demo's traders. */
  tokens: Record<string, string>;
  marketId: string;
}
