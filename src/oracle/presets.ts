import { DAY_MS, MINUTE_MS } from "../domain/time.ts";
import type { HttpSource } from "./source.ts";

const TIMEOUT_MS = 5000;
/** Some exchanges refuse requests without one. */
const AGENT = { "user-agent": "pmctl" };

const preset = (source: Omit<HttpSource, "kind" | "timeoutMs">): HttpSource => ({
  kind: "http",
  timeoutMs: TIMEOUT_MS,
  ...source,
});

/**
 * Known sources of prices, as data: a tenant file names them, and may change every part. `needs` is what only the tenant
 * can know. Errors that arrive with status 200 are caught by `okWhen`, or by a price or a time that is not there.
 */
export const PRESETS: Readonly<Record<string, HttpSource>> = {
  pyth: preset({
    url: "https://hermes.pyth.network/v2/updates/price/latest?parsed=true&ids[]={id}",
    // Its answer is the first update at or after the time.
    historyUrl: "https://hermes.pyth.network/v2/updates/price/{time}?parsed=true&ids[]={id}",
    price: { pointer: "/price/price", expoPointer: "/price/expo" },
    conf: { pointer: "/price/conf", expoPointer: "/price/expo" },
    time: { pointer: "/price/publish_time", unit: "s" },
    batch: { separator: "&ids[]=", list: "/parsed", symbol: "/id", max: 50 },
    needs: ["authorization"],
  }),
  coinbase: preset({
    url: "https://api.exchange.coinbase.com/products/{id}/ticker",
    headers: AGENT,
    price: { pointer: "/price" },
    time: { pointer: "/time", unit: "rfc3339" },
    candles: {
      url: "https://api.exchange.coinbase.com/products/{id}/candles?granularity=60&start={from}&end={to}",
      unit: "rfc3339",
      spanMs: MINUTE_MS,
      list: "",
      start: "/0",
      price: { pointer: "/4" },
      volume: "/5",
    },
  }),
  // The ticker tells no time; the last trade does.
  kraken: preset({
    url: "https://api.kraken.com/0/public/Trades?pair={id}",
    headers: AGENT,
    price: { pointer: "/result/*/-1/0" },
    time: { pointer: "/result/*/-1/2", unit: "s" },
    trades: {
      url: "https://api.kraken.com/0/public/Trades?pair={id}&since={time}",
      list: "/result/*",
      price: { pointer: "/0" },
      time: { pointer: "/2", unit: "s" },
      max: 1000,
    },
  }),
  bitstamp: preset({
    url: "https://www.bitstamp.net/api/v2/ticker/{id}/",
    headers: AGENT,
    price: { pointer: "/last" },
    time: { pointer: "/timestamp", unit: "s" },
    // A minute without trades has a candle too, of an older price and without a volume.
    candles: {
      url: "https://www.bitstamp.net/api/v2/ohlc/{id}/?step=60&limit=2&start={from}",
      unit: "s",
      spanMs: MINUTE_MS,
      list: "/data/ohlc",
      start: "/timestamp",
      price: { pointer: "/close" },
      volume: "/volume",
    },
  }),
  // Prices in USDT, which is not USD: for tenants who know that.
  binance: preset({
    url: "https://data-api.binance.vision/api/v3/ticker/24hr?symbol={id}",
    price: { pointer: "/lastPrice" },
    time: { pointer: "/closeTime", unit: "ms" },
  }),
  // The quote belongs to the minute that began at the stated time.
  twelvedata: preset({
    url: "https://api.twelvedata.com/quote?symbol={id}",
    price: { pointer: "/close" },
    time: { pointer: "/last_quote_at", unit: "s", spanMs: MINUTE_MS },
    okWhen: { pointer: "/status", notEquals: "error" },
    needs: ["authorization"],
  }),
  // The address names the tenant's account, so the tenant file states it.
  oanda: preset({
    url: "https://api-fxtrade.oanda.com/v3/accounts/ACCOUNT/pricing?instruments={id}",
    price: { pointer: "/closeoutBid", andPointer: "/closeoutAsk" },
    time: { pointer: "/time", unit: "rfc3339" },
    okWhen: { pointer: "/tradeable", equals: true },
    batch: { separator: "%2C", list: "/prices", symbol: "/instrument", max: 20 },
    needs: ["url", "authorization"],
  }),
  // An unknown symbol is answered with zeros, whose time is 1970 and so stale.
  finnhub: preset({
    url: "https://finnhub.io/api/v1/quote?symbol={id}",
    price: { pointer: "/c" },
    time: { pointer: "/t", unit: "s" },
    needs: ["authorization"],
  }),
  massive: preset({
    url: "https://api.massive.com/v2/last/trade/{id}",
    price: { pointer: "/results/p" },
    time: { pointer: "/results/t", unit: "ns" },
    okWhen: { pointer: "/status", equals: "OK" },
    needs: ["authorization"],
  }),
  // One fixing per business day.
  ecb: preset({
    url: "https://data-api.ecb.europa.eu/service/data/EXR/{id}?lastNObservations=1&format=jsondata",
    price: { pointer: "/dataSets/0/series/*/observations/*/0" },
    time: { pointer: "/structure/dimensions/observation/0/values/-1/id", unit: "date", spanMs: DAY_MS },
  }),
  // End of day; a missing value is ".", which is no number.
  fred: preset({
    url: "https://api.stlouisfed.org/fred/series/observations?series_id={id}&sort_order=desc&limit=1&file_type=json",
    price: { pointer: "/observations/0/value" },
    time: { pointer: "/observations/0/date", unit: "date", spanMs: DAY_MS },
    needs: ["query"],
  }),
  // Not an official interface: for tenants who accept that.
  yahoo: preset({
    url: "https://query1.finance.yahoo.com/v8/finance/chart/{id}?interval=1m&range=1d",
    headers: AGENT,
    price: { pointer: "/chart/result/0/meta/regularMarketPrice" },
    time: { pointer: "/chart/result/0/meta/regularMarketTime", unit: "s" },
    okWhen: { pointer: "/chart/error", equals: null },
  }),
};
