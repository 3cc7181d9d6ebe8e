import { afterAll, expect, test } from "vitest";
import { fetchPrices } from "../../src/oracle/fetch.ts";
import { sourceSet } from "../../src/oracle/sources.ts";
import { OutgoingHttp } from "../../src/outgoing/guarded-fetch.ts";
import { openFeedServer } from "./feed-server.ts";

const server = await openFeedServer();
const http = new OutgoingHttp({ allowPrivate: ["127.0.0.0/8"] });
afterAll(() => Promise.all([http.close(), server.close()]));

test("a source with a limit is never asked beyond it, and whichever symbol has waited longest comes first", async () => {
  const start = Date.parse("2027-01-01T00:00:00Z");
  const symbols = ["x", "y", "z"];
  for (const symbol of symbols) server.say(`/${symbol}`, { last: 1, ts: start / 1000 });
  const { ready: sources } = sourceSet({
    house: {
      url: `${server.url}/{id}`,
      price: { pointer: "/last" },
      time: { pointer: "/ts", unit: "s" },
      limit: { requests: 2, per: 60_000 },
    },
  });
  const askedAt = async (afterMs: number) => {
    server.heard.length = 0;
    const wanted = symbols.map((symbol) => ({ source: "house", symbol }));
    const fetched = await fetchPrices({ http, sources, now: async () => start + afterMs }, wanted);
    const failures = fetched.flatMap((each) => ("failure" in each ? [each.failure] : []));
    return [
      server.heard
        .map(({ path }) => path.slice(1))
        .sort()
        .join(),
      ...failures,
    ];
  };
  const over = "not asked, as its limit is 2 requests in 60 s";
  expect(await askedAt(0)).toEqual(["x,y", over]);
  expect(await askedAt(59_999)).toEqual(["", over, over, over]);
  expect(await askedAt(60_000)).toEqual(["x,z", over]);
  expect(await askedAt(120_000)).toEqual(["x,y", over]);
});
