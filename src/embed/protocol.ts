/**
 * The messages that the host page's loader and the frame send each other with `postMessage`. Each side checks the origin and the
 * source of every message, and names the exact origin that may read it. Everything here is also what a publisher's own code may
 * rely on, so this file imports nothing: the package's types are made from it.
 */
export const CHANNEL = "pmctl-embed/1";

export const VIEWS = ["market", "markets", "portfolio", "card", "compare"] as const;
export type View = (typeof VIEWS)[number];
export const THEMES = ["auto", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

/** An order as it was quoted. Money in dollars, prices and chances from 0 to 1. */
export interface QuoteDetail {
  marketId: string;
  side: "yes" | "no";
  action: "buy" | "sell";
  amount: number;
  shares: number;
  avgPrice: number;
  fee: number;
  yesPriceBefore: number;
  yesPriceAfter: number;
  /** How far the order moves the chance. */
  priceImpact: number;
}

/** A trade that was made, as `POST /v1/trade` answers it. */
export interface TradeDetail {
  tradeId: string;
  marketId: string;
  side: "yes" | "no";
  action: "buy" | "sell";
  amount: number;
  shares: number;
  avgPrice: number;
  fee: number;
  yesPriceAfter: number;
  ts: string;
  /** The position after the trade. */
  position: { shares: number; avgCost: number };
  /** Of a sale: its net proceeds less what its shares had cost. */
  realizedPnl?: number | undefined;
}

/** What the host page has to do, because a widget cannot. */
export const ACTIONS = ["signin", "verify", "deposit", "suitability"] as const;
export type ActionName = (typeof ACTIONS)[number];
export interface Action {
  /** What the user needs: to sign in, to be verified, to pay in, to answer the questions of suitability. */
  name: ActionName;
  /** The market that the user was about to trade, if any. */
  marketId?: string;
}
interface ActionDetail {
  marketId?: string;
}

/** What `onEvent` is told, by name. */
export interface EventDetails {
  /** The widget shows its contents. `mayTrade` says whether readers can trade on this page. */
  ready: { view: View; mayTrade: boolean };
  /** The frame shows its first contents, or something else than before. */
  view: { view: View; marketId?: string };
  /** The user asked for a price and sees this quote. Money in dollars, prices and chances from 0 to 1. */
  quote: QuoteDetail;
  /** The user confirmed the quote. The trade executes at its terms or better. */
  confirm: QuoteDetail;
  /** A trade was made. */
  trade: TradeDetail;
  /** The service refused something to the user: `code` of the API, and at which `stage`. */
  refused: { code: string; message: string; marketId?: string; stage: "before" | "quote" | "trade" };
  /** The user wants to sign in. */
  signin: ActionDetail;
  /** The user has to be verified first. */
  verify: ActionDetail;
  /** The user wants to pay money in. */
  deposit: ActionDetail;
  /** The user has to answer the questions of suitability first. */
  suitability: ActionDetail;
  /** The widget cannot do its work. `retryInMs` says when it tries again by itself. */
  error: { code: string; message: string; retryInMs?: number };
  /** The height of the contents in CSS pixels. */
  height: { height: number };
}
export type EventName = keyof EventDetails;
/** One event with the detail that belongs to its name. */
export type EmbedEvent = { [Name in EventName]: { name: Name; detail: EventDetails[Name] } }[EventName];

/** What a page may change of the tenant's look, within what the tenant allows. A colour is `#rrggbb`, or one for each scheme. */
export interface Brand {
  /** By token: `background`, `surface`, `text`, `muted`, `border`, `accent`, `onAccent`, `yes`, `onYes`, `no`, `onNo`. */
  colors?: Record<string, string | { light: string; dark: string }>;
  /** A font that readers have, or that `url` loads: woff2, from the host of the tenant's own font. */
  font?: { family: string; url?: string };
  /** Radius of corners in CSS pixels, 0 to 32. */
  radius?: number;
  /** Space between elements. */
  density?: "comfortable" | "compact";
  /** Names of Yes and No, one for all languages or one for each. */
  words?: { yes?: string | Record<string, string>; no?: string | Record<string, string> };
}

/** What a frame shows; the loader writes it into the frame's address, and sends it when the page changes its mind. */
export interface Shown {
  view: View;
  marketId?: string | undefined;
  /** Two, for `compare`. */
  marketIds?: readonly string[] | undefined;
  locale?: string | undefined;
}

/**
 * What the page wrote, in its own spelling: the frame checks it and warns the page's author, because the loader has no room.
 * Options come by name, two of them with their values; the place comes with its tag and the names of its attributes.
 */
export type Written = readonly [
  names: readonly string[],
  tag: string,
  attributes: readonly string[],
  height: string,
  loading: string,
];

/** From the frame to the page around it. */
export type FrameMessage =
  /** The document is loaded, shows this view, and may trade or not; its title is also the frame's. */
  | { type: "ready"; view: View; mayTrade: boolean; title?: string }
  /** The height of the frame's content, CSS pixels; `busy` while a person acts in it, when nothing may move under their hands. */
  | { type: "height"; height: number; busy?: boolean }
  /** The frame needs a user token: none was given yet, or the last one is about to expire or was refused. */
  | { type: "token-needed"; reason: "start" | "expiring" | "refused" }
  /**
   * `top`: the frame shows something new, which begins at its top; the page remembers the reader's place and brings the top
   * into sight. `back`: the frame shows what it had shown before, and the reader returns to the place that was remembered.
   */
  | { type: "scroll"; to: "top" | "back" }
  /** For the host's `onEvent`. */
  | { type: "event"; name: EventName; detail: object };

/** From the page around it to the frame. */
export type HostMessage =
  | { type: "token"; token: string | null }
  | { type: "theme"; theme: Theme }
  /** null ends an earlier one. */
  | { type: "brand"; brand: Brand | null }
  | { type: "written"; written: Written }
  | ({ type: "update" } & Shown);

export type Envelope<Message> = { channel: typeof CHANNEL; id: string } & Message;

/** Height in CSS pixels within which a frame may size itself. */
export const MIN_HEIGHT = 120;
export const MAX_HEIGHT = 4000;

/** What a frame shows, as its address says it: the path beneath the tenant's origin, and the query. */
export function queryOf({ view, marketId, marketIds, locale }: Shown): Record<string, string> {
  const markets = view === "compare" ? marketIds?.join(",") : marketId;
  return { ...(markets ? { marketId: markets } : {}), ...(locale ? { locale } : {}) };
}
