import type { Loose } from "../overlay.ts";

/** A number in an answer: its position, and the position of its power of ten. */
export interface NumberPointer {
  pointer: string;
  expoPointer?: string | undefined;
  /** A second number: the price is the mean of both, as for bid and ask. */
  andPointer?: string | undefined;
}

/** An address, and how its answers are read. */
export interface HttpSource {
  kind: "http";
  /** `{id}` is replaced by the symbol. */
  url: string;
  headers?: Readonly<Record<string, string>> | undefined;
  /** Parameters with secrets, such as an API key. They are separate from the address, which may be shown. */
  query?: Readonly<Record<string, string>> | undefined;
  price: NumberPointer;
  conf?: NumberPointer | undefined;
  time: {
    pointer: string;
    unit: "s" | "ms" | "ns" | "rfc3339" | "date";
    /** The stated time is the beginning of a span of this length; the price was observed at its end. */
    spanMs?: number | undefined;
  };
  okWhen?: { pointer: string; equals?: Literal | undefined; notEquals?: Literal | undefined } | undefined;
  timeoutMs: number;
  /** The most requests within a number of milliseconds; further ones wait for the next sweep. */
  limit?: { requests: number; per: number } | undefined;
  /** Several symbols in one request: how they are joined, and the positions of the answer's entries and their symbols. */
  batch?: { separator: string; list: string; symbol: string; max: number } | undefined;
  /** The address of the first price at or after `{time}` (seconds), for sources with a history. */
  historyUrl?: string | undefined;
  /** For sources that list the trades after `{time}`, oldest first. */
  trades?: TradeList | undefined;
  /** For sources that list the last trade of each span. */
  candles?: CandleList | undefined;
  /** What the tenant file must state to enable this preset. */
  needs?: readonly ("url" | "authorization" | "query")[] | undefined;
  /** Sources with the same upstream count once. */
  upstream?: string | undefined;
}

/** The position of the trades, of each one's price and time, and the most trades in one answer. */
export interface TradeList extends Pick<HttpSource, "url" | "price" | "time"> {
  list: string;
  max: number;
}

/**
 * The position of the candles, and of each one's beginning (seconds), last price and volume, in any order. `{from}` in
 * the address is replaced by the beginning of the requested candle, `{to}` by that of the next.
 */
export interface CandleList {
  url: string;
  /** The format of `{from}` and `{to}`. */
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

/** Invented prices for sandboxes: a fixed random walk around `start`, the same for the same seed. */
export interface SimulatedSource {
  kind: "simulated";
  start: number;
  /** Typical relative change in a day. */
  volatility: number;
  seed: number;
  upstream?: string | undefined;
}

export type Source = HttpSource | PushSource | SimulatedSource;

/** Parts of a source in the tenant file with resolved secrets; `timeout` in milliseconds. */
export type SourceOverride = Loose<
  Pick<HttpSource, "url" | "headers" | "query" | "price" | "conf" | "time" | "okWhen" | "limit" | "upstream"> & {
    timeout: number;
    simulated: Omit<SimulatedSource, "kind">;
    push: boolean;
  }
>;

/** The hosts of a source, each once: its history, trades and candles may have other hosts than its prices. */
export function hostsOf({ url, historyUrl, trades, candles }: HttpSource): string[] {
  const addresses = [url, historyUrl, trades?.url, candles?.url].filter((address) => address !== undefined);
  return [...new Set(addresses.map((address) => new URL(address).hostname))];
}
