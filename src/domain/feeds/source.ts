import type { Loose } from "../overlay.ts";

/** A number in an answer: where it stands, and where the power of ten that it is multiplied with. */
export interface NumberPointer {
  pointer: string;
  expoPointer?: string | undefined;
  /** A second number; the price is the middle between the two, as of a bid and an ask. */
  andPointer?: string | undefined;
}

/** A kind of address, and how its answers are read. */
export interface HttpSource {
  kind: "http";
  /** `{id}` becomes the symbol. */
  url: string;
  headers?: Readonly<Record<string, string>> | undefined;
  /** Parameters that hold secrets, such as an API key: kept apart from the address, which may be shown. */
  query?: Readonly<Record<string, string>> | undefined;
  price: NumberPointer;
  conf?: NumberPointer | undefined;
  time: {
    pointer: string;
    unit: "s" | "ms" | "ns" | "rfc3339" | "date";
    /** The stated time is the beginning of a span of this length, whose end is what was observed. */
    spanMs?: number | undefined;
  };
  okWhen?: { pointer: string; equals?: Literal | undefined; notEquals?: Literal | undefined } | undefined;
  timeoutMs: number;
  /** How many requests may go out within so many milliseconds; what is over waits for the next sweep. */
  limit?: { requests: number; per: number } | undefined;
  /** Several symbols in one request: how they are joined, and where the answer's entries and their symbols stand. */
  batch?: { separator: string; list: string; symbol: string; max: number } | undefined;
  /** Address of the first price at or after `{time}` (seconds), for sources that remember. */
  historyUrl?: string | undefined;
  /** For sources that tell the trades after `{time}`, oldest first. */
  trades?: TradeList | undefined;
  /** For sources that tell the last trade of each span. */
  candles?: CandleList | undefined;
  /** What the tenant file must state before this preset can be used. */
  needs?: readonly ("url" | "authorization" | "query")[] | undefined;
  /** Sources of one upstream count once. */
  upstream?: string | undefined;
}

/** Where the trades stand, within each its price and its time, and how many one answer holds at the most. */
export interface TradeList extends Pick<HttpSource, "url" | "price" | "time"> {
  list: string;
  max: number;
}

/**
 * Where candles stand, and within each its beginning (seconds), its last price and how much was traded. They need not be
 * in any order. `{from}` in the address becomes the beginning of the candle that is asked for, `{to}` that of the next.
 */
export interface CandleList {
  url: string;
  /** How `{from}` and `{to}` are written. */
  unit: "s" | "rfc3339";
  spanMs: number;
  list: string;
  start: string;
  price: NumberPointer;
  volume: string;
}

export type Literal = string | number | boolean | null;

/** Prices that the tenant sends by a signed request. */
interface PushSource {
  kind: "push";
  upstream?: string | undefined;
}

/** Invented prices for sandboxes: a fixed walk around `start`, the same for the same seed. */
export interface SimulatedSource {
  kind: "simulated";
  start: number;
  /** Typical relative change in a day. */
  volatility: number;
  seed: number;
  upstream?: string | undefined;
}

export type Source = HttpSource | PushSource | SimulatedSource;

/** Parts of a source in the tenant file, secrets resolved; `timeout` in milliseconds. */
export type SourceOverride = Loose<
  Pick<HttpSource, "url" | "headers" | "query" | "price" | "conf" | "time" | "okWhen" | "limit" | "upstream"> & {
    timeout: number;
    simulated: Omit<SimulatedSource, "kind">;
    push: boolean;
  }
>;

/** The hosts that a source is asked at, each once: its history, trades and candles may stand elsewhere than its prices. */
export function hostsOf({ url, historyUrl, trades, candles }: HttpSource): string[] {
  const addresses = [url, historyUrl, trades?.url, candles?.url].filter((address) => address !== undefined);
  return [...new Set(addresses.map((address) => new URL(address).hostname))];
}
