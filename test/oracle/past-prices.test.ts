import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { decimalText } from "../../src/domain/decimal.ts";
import { feedCatalogue } from "../../src/domain/feeds/feed.ts";
import { PRESETS } from "../../src/domain/feeds/presets.ts";
import type { HttpSource, SourceOverride } from "../../src/domain/feeds/source.ts";
import { canAskPast, fetchHistory } from "../../src/oracle/fetch.ts";
import { sourceSet } from "../../src/oracle/sources.ts";
import { OutgoingHttp } from "../../src/outgoing/guarded-fetch.ts";
import { openFeedServer } from "./feed-server.ts";

const INSTANT = Date.parse("2026-11-20T15:00:00Z");
const SEC = INSTANT / 1000;

const server = await openFeedServer();
const http = new OutgoingHttp({ allowPrivate: ["127.0.0.0/8"] });
afterAll(() => Promise.all([http.close(), server.close()]));
beforeEach(() => {
  server.fall("/");
  server.heard.length = 0;
});

/** What an hour later can still be learned of the price at the instant: prices with their seconds before it, or failures. */
async function remembered(
  source: HttpSource,
  laterMs = 3_600_000,
): Promise<(string | [price: string, beforeSec: number])[]> {
  const context = { http, sources: new Map([["past", source]]), now: async () => INSTANT + laterMs };
  const fetched = await fetchHistory(context, [{ source: "past", symbol: "x" }], INSTANT);
  return fetched.map((each) =>
    "failure" in each ? each.failure : [decimalText(each.reading.price), (INSTANT - each.reading.observedAt) / 1000],
  );
}

describe("a source that tells the first price at or after a time", () => {
  const source = (): HttpSource => ({
    kind: "http",
    timeoutMs: 2000,
    url: `${server.url}/{id}`,
    historyUrl: `${server.url}/{id}/{time}`,
    price: { pointer: "/last" },
    time: { pointer: "/ts", unit: "s" },
  });
  const say = (from: number, price: string, at: number) => server.say(`/x/${from}`, `{"last": ${price}, "ts": ${at}}`);

  test("is asked for the second of the instant first, and then for no other", async () => {
    say(SEC, "7.0", SEC);
    expect(await remembered(source())).toEqual([["7", 0]]);
    expect(server.heard).toHaveLength(1);
  });

  test("is asked backwards, so that what it says is the last price before the instant and not an earlier one", async () => {
    for (const back of [0, 1]) say(SEC - back, "9", SEC + 1);
    for (const back of [2, 3]) say(SEC - back, "5", SEC - 2);
    say(SEC - 10, "1", SEC - 9);
    expect((await remembered(source())).at(-1)).toEqual(["5", 2]);
  });

  test("is not believed further back once an answer was missing", async () => {
    say(SEC - 1, "5", SEC - 1);
    expect(await remembered(source())).toEqual([expect.stringContaining("The request failed")]);
  });
});

describe("Kraken's trades of the minute before the instant", () => {
  const kraken = (): HttpSource => {
    const { trades, ...rest } = PRESETS.kraken as HttpSource;
    if (!trades) throw new Error("Kraken tells its trades");
    return { ...rest, trades: { ...trades, url: trades.url.replace(/^https:\/\/[^/]+/, server.url) } };
  };
  const trade = (price: string, time: number) => [price, "0.1", time, "b", "l", "", 1];
  const say = (trades: unknown[]) =>
    server.say(`/0/public/Trades?pair=x&since=${SEC - 60}`, { error: [], result: { XXBTZUSD: trades, last: "1" } });

  test("hold the last one at or before it, in all its digits", async () => {
    say([trade("1.0", SEC - 9), trade("30243.500000000000000001", SEC - 0.25), trade("9", SEC + 0.5)]);
    expect(await remembered(kraken())).toEqual([["30243.500000000000000001", 0.25]]);
  });

  test("say nothing when there is none before it, when the list broke off before it, or when it is none", async () => {
    say([trade("9", SEC + 1)]);
    expect(await remembered(kraken())).toEqual(["the answer holds no trade before the instant"]);
    say(Array.from({ length: 1000 }, () => trade("9", SEC - 30)));
    expect(await remembered(kraken())).toEqual(["the answer breaks off before the instant"]);
    say([trade("1,5", SEC - 1)]);
    expect(await remembered(kraken())).toEqual(["there is no number at /0"]);
    server.say(`/0/public/Trades?pair=x&since=${SEC - 60}`, { error: ["EGeneral:Too many requests"] });
    expect(await remembered(kraken())).toEqual(["there is no list at /result/*"]);
  });
});

describe("the candle of the minute that ends at the instant", () => {
  const onLoopback = (name: "coinbase" | "bitstamp"): HttpSource => {
    const { candles, ...rest } = PRESETS[name] as HttpSource;
    if (!candles) throw new Error(`${name} tells its candles`);
    return { ...rest, candles: { ...candles, url: candles.url.replace(/^https:\/\/[^/]+/, server.url) } };
  };
  const ofCoinbase = (startSec: number, close: number, volume = 1.5) => [startSec, 1, 9, 2, close, volume];
  const ofBitstamp = (startSec: number, close: string, volume = "0.5") => ({
    ...{ timestamp: String(startSec), open: "2", high: "9", low: "1" },
    ...{ close, volume },
  });
  const sayCoinbase = (candles: unknown) =>
    server.say(
      "/products/x/candles?granularity=60&start=2026-11-20T14:59:00.000Z&end=2026-11-20T15:00:00.000Z",
      candles,
    );
  const sayBitstamp = (ohlc: unknown[]) =>
    server.say(`/api/v2/ohlc/x/?step=60&limit=2&start=${SEC - 60}`, { data: { pair: "X/USD", ohlc } });

  test("closes with the last price before the instant, among others and in any order", async () => {
    sayCoinbase([ofCoinbase(SEC, 7), ofCoinbase(SEC - 60, 30243.51), ofCoinbase(SEC - 120, 8)]);
    expect(await remembered(onLoopback("coinbase"))).toEqual([["30243.51", 0]]);
    sayBitstamp([ofBitstamp(SEC - 60, "30243.50"), ofBitstamp(SEC, "7")]);
    expect(await remembered(onLoopback("bitstamp"))).toEqual([["30243.5", 0]]);
  });

  test("says nothing when it is missing, when nothing was traded in it, and when there are none", async () => {
    sayCoinbase([ofCoinbase(SEC, 7), ofCoinbase(SEC - 120, 8)]);
    expect(await remembered(onLoopback("coinbase"))).toEqual(["the answer holds no candle that ends at the instant"]);
    sayCoinbase({ message: "NotFound" });
    expect(await remembered(onLoopback("coinbase"))).toEqual(["there is no list at the top"]);
    sayBitstamp([ofBitstamp(SEC - 60, "30243.50", "0.00000000")]);
    expect(await remembered(onLoopback("bitstamp"))).toEqual(["nothing was traded in the candle before the instant"]);
  });

  test("is not believed before the next one has ended, since late trades may still be added to it", async () => {
    sayBitstamp([ofBitstamp(SEC - 60, "30243.50")]);
    expect(await remembered(onLoopback("bitstamp"), 59_999)).toEqual([
      "the candle that ends at the instant may still change",
    ]);
    expect(await remembered(onLoopback("bitstamp"), 60_000)).toEqual([["30243.5", 0]]);
  });

  test("is asked for only at the end of a minute, and where a price may be a minute old", () => {
    const { coinbase } = PRESETS;
    expect(canAskPast(coinbase, { instant: INSTANT, maxAgeMs: 60_000 })).toBe(true);
    expect(canAskPast(coinbase, { instant: INSTANT + 1000, maxAgeMs: 60_000 })).toBe(false);
    expect(canAskPast(coinbase, { instant: INSTANT, maxAgeMs: 59_000 })).toBe(false);
  });

  test("is not asked of a preset that the tenant reads elsewhere, or from elsewhere", () => {
    const ready = (override: SourceOverride) => sourceSet({ coinbase: override }).ready.get("coinbase");
    const at = { instant: INSTANT, maxAgeMs: 60_000 };
    expect(canAskPast(ready({ timeout: 1000 }), at)).toBe(true);
    expect(canAskPast(ready({ price: { pointer: "/bid" } }), at)).toBe(false);
    expect(canAskPast(ready({ url: "https://mirror.example/{id}" }), at)).toBe(false);
  });
});

test("an outage at the close of a built-in crypto feed is healed without any key", () => {
  const { ready } = sourceSet();
  const crypto = [...feedCatalogue().values()].filter(({ quorum }) => quorum === 2);
  const forgetful = crypto.filter(({ sources, quorum, maxAgeMs }) => {
    const able = sources.filter(({ use }) => canAskPast(ready.get(use), { instant: INSTANT, maxAgeMs }));
    return able.length < quorum;
  });
  // Its home is an exchange without dollars, so that one source is left, with or without an outage.
  expect(forgetful.map(({ key }) => key)).toEqual(["pm:bnb"]);
});
