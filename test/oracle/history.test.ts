import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { decimalText } from "../../src/domain/decimal.ts";
import { fetchHistory } from "../../src/oracle/fetch.ts";
import { PRESETS } from "../../src/oracle/presets.ts";
import type { HttpSource } from "../../src/oracle/source.ts";
import { OutgoingHttp } from "../../src/services/guarded-fetch.ts";
import { type FeedServer, openFeedServer } from "./feed-server.ts";

const INSTANT = Date.parse("2026-11-20T15:00:00Z");
const SEC = INSTANT / 1000;

let server: FeedServer;
const http = new OutgoingHttp(["127.0.0.0/8"]);
beforeAll(async () => {
  server = await openFeedServer();
});
afterAll(async () => {
  await http.close();
  await server.close();
});
beforeEach(() => {
  server.fall("/");
  server.heard.length = 0;
});

/** What an hour later can still be learned of the price at the instant: prices with their seconds before it, or failures. */
async function remembered(source: HttpSource): Promise<(string | [price: string, beforeSec: number])[]> {
  const context = { http, sources: new Map([["past", source]]), now: async () => INSTANT + 3_600_000 };
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
