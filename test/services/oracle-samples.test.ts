import { afterAll, beforeAll, expect, test } from "vitest";
import { auditKey } from "../../src/domain/audit/seal.ts";
import { recordTicks } from "../../src/ledger/unchained/oracle-ticks.ts";
import { AUDIT_SECRET, openTestTenant, type TestTenant } from "../support/tenant.ts";

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await openTestTenant();
  const tick = (source: string, symbol: string, observedAt: number, price: string) => ({
    ...{ source, symbol, observedAt, price, conf: null },
    ...{ receivedAt: observedAt + 5, confirmedAt: observedAt + 9 },
  });
  const ticks = [
    ...[1, 2, 3].map((at) => tick("coinbase", "BTC-USD", at * 1000, `10000${at}.5`)),
    tick("kraken", "XBTUSD", 2500, "100001.1"),
    tick("coinbase", "ETH-USD", 4000, "3"),
  ];
  await tenant.services.pool.write((sql) => recordTicks(sql, ticks, auditKey(AUDIT_SECRET)));
});
afterAll(() => tenant.close());

test("the samples of a feed are its sources' newest prices by time, each source with its distance from the middle", async () => {
  const { feed, sources } = await tenant.api().listFeedSamples({ feed: "PM:BTC", limit: 2 });
  expect(feed).toBe("pm:btc");
  const of = (name: string) => sources.find(({ source }) => source === name);
  expect(of("coinbase")).toEqual({
    source: "coinbase",
    symbol: "BTC-USD",
    apart: "1.2",
    confirmedAt: "1970-01-01T00:00:03.009Z",
    samples: [
      { observedAt: "1970-01-01T00:00:02.000Z", receivedAt: "1970-01-01T00:00:02.005Z", price: "100002.5" },
      { observedAt: "1970-01-01T00:00:03.000Z", receivedAt: "1970-01-01T00:00:03.005Z", price: "100003.5" },
    ],
  });
  expect(of("kraken")).toMatchObject({ apart: "-1.2" });
  const silent = sources.filter(({ source }) => source !== "coinbase" && source !== "kraken");
  expect(silent.length).toBeGreaterThan(0);
  for (const source of silent) expect(source).toMatchObject({ apart: null, confirmedAt: null, samples: [] });
});

test("an unknown feed is not found, with the nearest name", async () => {
  await expect(tenant.api().listFeedSamples({ feed: "pm:btcc" })).rejects.toMatchObject({
    code: "NOT_FOUND",
    message: expect.stringContaining("pm:btc"),
  });
});
