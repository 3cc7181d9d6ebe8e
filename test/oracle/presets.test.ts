import { afterAll, describe, expect, test } from "vitest";
import { decimalText } from "../../src/domain/decimal.ts";
import { PRESETS } from "../../src/domain/feeds/presets.ts";
import type { HttpSource } from "../../src/domain/feeds/source.ts";
import { fetchPrices } from "../../src/oracle/fetch.ts";
import { sourceSet } from "../../src/oracle/sources.ts";
import { OutgoingHttp } from "../../src/outgoing/guarded-fetch.ts";
import { openFeedServer } from "./feed-server.ts";

const NOW = Date.parse("2026-11-20T15:00:00Z");
const SEC = NOW / 1000;

const server = await openFeedServer();
const http = new OutgoingHttp({ allowPrivate: ["127.0.0.0/8"] });
afterAll(() => Promise.all([http.close(), server.close()]));

/** The preset with its own path and query, on loopback. */
function onLoopback(name: string): HttpSource {
  const preset = PRESETS[name] as HttpSource;
  return { ...preset, url: preset.url.replace(/^https:\/\/[^/]+/, server.url), timeoutMs: 2000 };
}

async function ask(name: string, symbol: string, query?: Record<string, string>): Promise<string> {
  const source = { ...onLoopback(name), query };
  const context = { http, sources: new Map([[name, source]]), now: async () => NOW };
  const [fetched] = await fetchPrices(context, [{ source: name, symbol }]);
  if (!fetched) return "nothing";
  if ("failure" in fetched) return fetched.failure;
  const { price, conf, observedAt } = fetched.reading;
  return `${decimalText(price)}${conf ? ` ±${decimalText(conf)}` : ""} at ${new Date(observedAt).toISOString()}`;
}

const BTC = "e62df6c8b4a85fe1a67db44dc12de5db330f7ac66b72dc658afedf0f4a415b43";
const pyth = (price: string, expo: number, id = BTC) => ({
  binary: { encoding: "hex", data: ["504e4155"] },
  parsed: [
    {
      id,
      price: { price, conf: "3321000000", expo, publish_time: SEC - 1 },
      ema_price: { price: "1", conf: "1", expo, publish_time: SEC - 1 },
      metadata: { slot: 1, proof_available_time: SEC, prev_publish_time: SEC - 2 },
    },
  ],
});
const kraken = (trades: unknown[]) => ({ error: [], result: { XXBTZUSD: trades, last: "1688669597827745211" } });
const ecb = (value: number, day: string) => ({
  header: { id: "x", test: false },
  dataSets: [
    {
      action: "Replace",
      series: { "0:0:0:0:0": { attributes: [0], observations: { "0": [value, 0, 0, null, null] } } },
    },
  ],
  structure: { dimensions: { observation: [{ id: "TIME_PERIOD", values: [{ id: day, name: day }] }] } },
});

const answers: [name: string, symbol: string, path: string, body: unknown, expected: string][] = [
  [
    "pyth",
    BTC,
    `/v2/updates/price/latest?parsed=true&ids[]=${BTC}`,
    pyth("10000000000001", -8),
    "100000.00000001 ±33.21 at 2026-11-20T14:59:59.000Z",
  ],
  [
    "pyth",
    BTC,
    `/v2/updates/price/latest?parsed=true&ids[]=${BTC}`,
    pyth("1000", 2),
    "100000 ±332100000000 at 2026-11-20T14:59:59.000Z",
  ],
  [
    "pyth",
    BTC,
    `/v2/updates/price/latest?parsed=true&ids[]=${BTC}`,
    pyth("7", 0, "other"),
    `the answer does not contain ${BTC}`,
  ],
  [
    "coinbase",
    "BTC-USD",
    "/products/BTC-USD/ticker",
    {
      trade_id: 1,
      price: "64210.01",
      size: "0.1",
      time: "2026-11-20T14:59:58.123456Z",
      bid: "1",
      ask: "2",
      volume: "3",
    },
    "64210.01 at 2026-11-20T14:59:58.123Z",
  ],
  [
    "kraken",
    "XBTUSD",
    "/0/public/Trades?pair=XBTUSD",
    kraken([
      ["30243.4", "0.3", SEC - 9.5, "b", "m", "", 1],
      ["30243.50000", "0.1", SEC - 0.1221, "s", "l", "", 2],
    ]),
    "30243.5 at 2026-11-20T14:59:59.877Z",
  ],
  [
    "kraken",
    "NOPE",
    "/0/public/Trades?pair=NOPE",
    { error: ["EQuery:Unknown asset pair"] },
    "there is no number at /result/*/-1/0",
  ],
  ["kraken", "XBTUSD", "/0/public/Trades?pair=XBTUSD", kraken([]), "there is no number at /result/*/-1/0"],
  [
    "bitstamp",
    "btcusd",
    "/api/v2/ticker/btcusd/",
    { timestamp: String(SEC - 3), last: "64000", open: "1", high: "2", low: "1", bid: "1", ask: "1", volume: "1" },
    "64000 at 2026-11-20T14:59:57.000Z",
  ],
  [
    "binance",
    "BTCUSDT",
    "/api/v3/ticker/24hr?symbol=BTCUSDT",
    { symbol: "BTCUSDT", lastPrice: "64001.10000000", closeTime: NOW - 5 },
    "64001.1 at 2026-11-20T14:59:59.995Z",
  ],
  [
    "twelvedata",
    "XAU/USD",
    "/quote?symbol=XAU/USD",
    { symbol: "XAU/USD", close: "2650.12", timestamp: SEC - 50_000, last_quote_at: SEC - 90, is_market_open: true },
    "2650.12 at 2026-11-20T14:59:30.000Z",
  ],
  [
    "twelvedata",
    "AAPL",
    "/quote?symbol=AAPL",
    { code: 429, message: "You have run out of API credits", status: "error" },
    "the answer says that it is not good (/status)",
  ],
  [
    "oanda",
    "XAU_USD",
    "/v3/accounts/ACCOUNT/pricing?instruments=XAU_USD",
    {
      time: "x",
      prices: [
        {
          instrument: "XAU_USD",
          tradeable: true,
          closeoutBid: "2650.10",
          closeoutAsk: "2650.35",
          time: "2026-11-20T14:59:58.123456789Z",
        },
      ],
    },
    "2650.225 at 2026-11-20T14:59:58.123Z",
  ],
  [
    "oanda",
    "XAU_USD",
    "/v3/accounts/ACCOUNT/pricing?instruments=XAU_USD",
    {
      prices: [
        { instrument: "XAU_USD", tradeable: false, closeoutBid: "1", closeoutAsk: "1", time: "2026-11-20T14:59:58Z" },
      ],
    },
    "the answer says that it is not good (/tradeable)",
  ],
  [
    "finnhub",
    "AAPL",
    "/api/v1/quote?symbol=AAPL",
    { c: 261.74, d: 1, dp: 1, h: 2, l: 1, o: 1, pc: 1, t: SEC - 30 },
    "261.74 at 2026-11-20T14:59:30.000Z",
  ],
  [
    "finnhub",
    "NOPE",
    "/api/v1/quote?symbol=NOPE",
    { c: 0, d: null, dp: null, h: 0, l: 0, o: 0, pc: 0, t: 0 },
    "0 at 1970-01-01T00:00:00.000Z",
  ],
  [
    "massive",
    "AAPL",
    "/v2/last/trade/AAPL",
    `{"status":"OK","results":{"T":"AAPL","p":261.7400000000000001,"t":${SEC - 1}000000001}}`,
    "261.7400000000000001 at 2026-11-20T14:59:59.000Z",
  ],
  [
    "ecb",
    "D.USD.EUR.SP00.A",
    "/service/data/EXR/D.USD.EUR.SP00.A?lastNObservations=1&format=jsondata",
    ecb(1.0855, "2026-11-19"),
    "1.0855 at 2026-11-20T00:00:00.000Z",
  ],
  [
    "yahoo",
    "AAPL",
    "/v8/finance/chart/AAPL?interval=1m&range=1d",
    { chart: { result: [{ meta: { regularMarketPrice: 261.74, regularMarketTime: SEC - 1 } }], error: null } },
    "261.74 at 2026-11-20T14:59:59.000Z",
  ],
  [
    "yahoo",
    "NOPE",
    "/v8/finance/chart/NOPE?interval=1m&range=1d",
    { chart: { result: null, error: { code: "Not Found" } } },
    "the answer says that it is not good (/chart/error)",
  ],
];

describe("a preset reads what its source answers:", () => {
  test.each(answers)("%s %s", async (name, symbol, path, body, expected) => {
    server.say(path, body);
    expect(await ask(name, symbol)).toBe(expected);
  });

  test("fred takes its key as a parameter, and a missing value is no price", async () => {
    const path = "/fred/series/observations?series_id=SP500&sort_order=desc&limit=1&file_type=json&api_key=k&1";
    const observed = (value: string) => ({
      observations: [{ realtime_start: "2026-11-20", date: "2026-11-19", value }],
    });
    server.say(path, observed("6000.12"));
    expect(await ask("fred", "SP500", { api_key: "k&1" })).toBe("6000.12 at 2026-11-20T00:00:00.000Z");
    server.say(path, observed("."));
    expect(await ask("fred", "SP500", { api_key: "k&1" })).toBe("there is no number at /observations/0/value");
  });

  test.each([
    ["a page", "<html>Too many requests</html>", 200, "the answer is not JSON"],
    ["half an answer", '{"price": "64', 200, "the answer is not JSON"],
    ["a redirect", "", 302, "answered with status 302"],
    ["an error status", "{}", 429, "answered with status 429"],
    ["a flood", " ".repeat(300_000), 200, "The answer is longer than 262144 bytes"],
    ["no time", { price: "1" }, 200, "there is no time at /time"],
    [
      "a time in milliseconds from another world",
      { price: "1", time: "2126-11-20T15:00:00Z" },
      200,
      "its time lies in the future",
    ],
    ["a number with a comma", { price: "1,234.5", time: "2026-11-20T15:00:00Z" }, 200, "there is no number at /price"],
    ["an empty number", { price: "", time: "2026-11-20T15:00:00Z" }, 200, "there is no number at /price"],
  ])("%s is no price", async (_, body, status, expected) => {
    server.say("/products/BTC-USD/ticker", body, status);
    expect(await ask("coinbase", "BTC-USD")).toBe(expected);
  });

  test("a source that batches is asked once for all its symbols", async () => {
    const path = "/v2/updates/price/latest?parsed=true&ids[]=aa&ids[]=bb";
    const [aa, bb] = ["aa", "bb"].map((id, index) => pyth(`${index + 1}00`, -2, id).parsed[0]);
    server.say(path, { parsed: [bb, aa] });
    const context = { http, sources: new Map([["pyth", onLoopback("pyth")]]), now: async () => NOW };
    const before = server.heard.length;
    const fetched = await fetchPrices(
      context,
      ["aa", "bb", "aa"].map((symbol) => ({ source: "pyth", symbol })),
    );
    expect(fetched.map((each) => "reading" in each && [each.symbol, decimalText(each.reading.price)])).toEqual([
      ["aa", "1"],
      ["bb", "2"],
    ]);
    expect(server.heard.length).toBe(before + 1);
  });

  test("presets that need a key or an address are used only once the tenant file has it", () => {
    const { ready, lacking } = sourceSet({});
    expect([...ready.keys()]).toEqual(["coinbase", "kraken", "bitstamp", "binance", "ecb", "yahoo"]);
    expect(lacking.get("oanda")).toBe("url and a header with the key");
    const configured = sourceSet({
      pyth: { headers: { authorization: "Bearer p" } },
      sandbox: { simulated: { start: 1, volatility: 0, seed: 1 } },
    });
    expect([...configured.ready.keys()]).toEqual(expect.arrayContaining(["pyth", "sandbox"]));
  });
});
