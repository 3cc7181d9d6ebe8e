import type { CurveSteps } from "../../domain/embed/curve-steps.ts";
import type { FaultCode } from "../../domain/fault.ts";
import type { MarketKind } from "../../domain/market/market.ts";
import type { StatedTheme } from "../../domain/theme/stated-theme.ts";
import type { Messages } from "../../locales/messages.ts";
import type { Sentence } from "../../locales/sentence-pieces.ts";
import type { SourceLink } from "../../locales/source-sentence.ts";
import type { WireResult } from "../operations.ts";

/** Data in a frame's document: everything that the view shows at first, so that its script sends no request. */
export interface FrameData {
  view: "market" | "markets" | "portfolio" | "card" | "compare";
  /** The tenant's name. */
  name: string;
  /** The language of the view, a BCP 47 tag, and every message in it. */
  locale: string;
  messages: Messages;
  /** Display names of categories, by slug. A category without an entry is shown by its slug. */
  categories: Readonly<Record<string, string>>;
  /** A public key; null when the tenant has no valid one, so that the view cannot trade. */
  apiKey: string | null;
  /**
   * Whether the embedding page, as the loader named it, may trade. The browser then refuses to show this document in
   * any other page.
   */
  mayTrade: boolean;
  /** A page where readers can trade when this page does not allow it; null if none is known. */
  tradeAt: string | null;
  /** The server's time in milliseconds since the epoch: pages count down by it, as a browser's clock may be wrong. */
  now: number;
  /** The tenant's theme. The frame applies the theme of its page on top. */
  theme?: StatedTheme | undefined;
  limits: { feeBps: number; maxTradeUsd: number };
  /** Trades that move the price by this much (0 to 1) cause a warning. */
  warnImpact: number;
  /** Set for the views `market` and `card`. */
  market?: FrameMarket;
  /** Set for the view `compare`. */
  compared?: [FrameMarket, FrameMarket];
  markets?: WireResult<"listMarkets">["items"];
  /** Where the next page of markets begins; null on the last page. */
  nextCursor?: string | null;
  /** Recent YES prices in millionths, oldest first, of the markets that traded. */
  sparks?: Record<string, number[]>;
  trending?: WireResult<"listTrendingMarkets">;
}

/** A page of open markets, for a list that continues or is filtered. */
export type FrameList = Required<Pick<FrameData, "nextCursor" | "sparks">> & {
  items: WireResult<"listMarkets">["items"];
};

/** Data in the document that explains why there is no view. */
export interface RefusalData {
  code: FaultCode;
  message: string;
  /** Seconds to wait before trying again; 0 when trying again is useless. */
  retryAfterSec: number;
  locale: string;
  /** The messages that this document needs. */
  messages: Partial<Messages>;
  /** The view's own script, which replaces the document's contents once there is something to show. */
  framePath: string;
}

export interface FrameMarket {
  detail: WireResult<"getMarket">;
  /** YES prices with the time since when each applies, in milliseconds since the epoch, thinned out for a chart. */
  history: CurveSteps;
  /** What settles the market, in the view's language; set for the view `market`. */
  source?: readonly (string | SourceLink)[] | undefined;
  /**
   * How the market ended, in the view's language: all of it for the view `market`, for others what the name of its outcome
   * does not say.
   */
  ended?: readonly Sentence[] | undefined;
  /** The proposal about its end that waits; set for the view `market`. */
  proposal?: FrameProposal | undefined;
  /** How the market is priced, so that the page can quote with the engine's own maths. */
  terms: { kind: MarketKind; p0Ppm: number; fundMicro: string; yesMicro: string; noMicro: string };
}

/** A proposal in the view's language. */
export interface FrameProposal {
  id: string;
  marketId: string;
  said: readonly Sentence[];
  /** Of the form by which a user objects, by name, and of refusals by code. */
  words: Readonly<Record<string, string>>;
}

/** Data in the demo's playground page. */
export interface PlaygroundData {
  /** The tenant's scheme and host, as snippets name them. */
  origin: string;
  apiKey: string;
  /** Tokens by user id, in the order of the demo's traders. */
  tokens: Record<string, string>;
  /** At most two open markets, the most traded first. */
  marketIds: string[];
}
