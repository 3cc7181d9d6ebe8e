import type { CurveSteps } from "../../domain/embed/curve-steps.ts";
import type { FaultCode } from "../../domain/fault.ts";
import type { MarketKind } from "../../domain/market/market.ts";
import type { StatedTheme } from "../../domain/theme/stated-theme.ts";
import type { Messages } from "../../locales/messages.ts";
import type { SourceLink } from "../../locales/source-sentence.ts";
import type { WireResult } from "../operations.ts";

/** Data in a frame's document: all that the view shows at first, so that its script sends no request for it. */
export interface FrameData {
  view: "market" | "markets" | "portfolio" | "card" | "compare";
  /** The tenant's name. */
  name: string;
  /** The language of the view, a BCP 47 tag, and every message in it. */
  locale: string;
  messages: Messages;
  /** What readers call categories, by slug; one that is not here is called by its slug. */
  categories: Readonly<Record<string, string>>;
  /** A public key; null when the tenant has no valid one, so that the view cannot trade. */
  apiKey: string | null;
  /**
   * Whether the embedding page, as the loader named it, may trade. The browser then refuses to show this document in
   * any other page.
   */
  mayTrade: boolean;
  /** A page where readers can trade, when this one does not let them; null where none is known. */
  tradeAt: string | null;
  /** The server's clock in milliseconds since the epoch: pages count down by it, as a browser's clock may be wrong. */
  now: number;
  /** What the tenant states of the looks: the frame lays what its page may set over it. */
  theme?: StatedTheme | undefined;
  limits: { feeBps: number; maxTradeUsd: number };
  /** Traders are warned of trades that move the price by so much, 0 to 1. */
  warnImpact: number;
  /** Of the views `market` and `card`. */
  market?: FrameMarket;
  /** Of the view `compare`: two. */
  compared?: [FrameMarket, FrameMarket];
  markets?: WireResult<"listMarkets">["items"];
  /** Where the next page of markets begins; null when these are all. */
  nextCursor?: string | null;
  /** Recent YES prices of the markets that traded, oldest first, millionths. */
  sparks?: Record<string, number[]>;
  trending?: WireResult<"listTrendingMarkets">;
}

/** A page of open markets, for a list that goes on or is narrowed down. */
export type FrameList = Required<Pick<FrameData, "nextCursor" | "sparks">> & {
  items: WireResult<"listMarkets">["items"];
};

/** Data in the document of a refusal. */
export interface RefusalData {
  code: FaultCode;
  message: string;
  /** Seconds to wait before trying again; 0 when trying again is useless. */
  retryAfterSec: number;
  locale: string;
  /** Those that a refusal needs. */
  messages: Partial<Messages>;
  /** The view's own script, which takes the document over as soon as there is something to show. */
  framePath: string;
}

export interface FrameMarket {
  detail: WireResult<"getMarket">;
  /** YES prices with the time from which each held, milliseconds since the epoch; thinned out for a chart. */
  history: CurveSteps;
  /** What settles it, in the language of the view; of the view `market`. */
  source?: readonly (string | SourceLink)[] | undefined;
  /** The value of the feed that settled it, a decimal. */
  finalValue?: string | undefined;
  /** How its prices are made, so that the page can quote with the engine's own maths. */
  terms: { kind: MarketKind; p0Ppm: number; fundMicro: string; yesMicro: string; noMicro: string };
}

/** Data in the demo's playground page. */
export interface PlaygroundData {
  /** Scheme and host of the tenant, as snippets name it. */
  origin: string;
  apiKey: string;
  /** Tokens by user id, in the order of the demo's traders. */
  tokens: Record<string, string>;
  /** Open ones, the most traded first; two at the most. */
  marketIds: string[];
}
