import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { decimalText } from "../../src/domain/decimal.ts";
import type { OracleContext } from "../../src/oracle/context.ts";
import { fetchHistory, fetchPrices } from "../../src/oracle/fetch.ts";
import { sourceSet } from "../../src/oracle/sources.ts";
import { startOracle } from "../../src/oracle/worker.ts";
import { OutgoingHttp } from "../../src/outgoing/guarded-fetch.ts";
import { openStage } from "./stage.ts";

test("a sweep that takes longer than its beat delays the next one and never overlaps it", async () => {
  const stage = await openStage(1);
  const [context] = stage.contexts as [OracleContext];
  let running = 0;
  let most = 0;
  let sweeps = 0;
  const now = async () => {
    running += 1;
    most = Math.max(most, running);
    await delay(60);
    running -= 1;
    return Date.now();
  };
  const errors: unknown[] = [];
  const enough = Promise.withResolvers<void>();
  const worker = startOracle(
    { ...context, sweepMs: 10, now },
    (error) => errors.push(error),
    () => {
      sweeps += 1;
      if (sweeps === 3) enough.resolve();
    },
  );
  expect(worker.ageMs()).toBeNull();
  await enough.promise;
  expect(worker.ageMs()).toBeGreaterThanOrEqual(0);
  await worker.stop();
  const ended = sweeps;
  await delay(300);
  expect({ most, errors, after: sweeps }).toEqual({ most: 1, errors: [], after: ended });
  await stage.close();
});

test("simulated prices are the same for the same seed, at any time, on any machine", async () => {
  const { ready } = sourceSet({
    sandbox: { simulated: { start: 100_000, volatility: 0.02, seed: 7 } },
    other: { simulated: { start: 100_000, volatility: 0.02, seed: 8 } },
  });
  const instant = Date.parse("2026-11-20T15:00:00Z");
  const http = new OutgoingHttp();
  const context = { http, sources: ready, now: async () => instant };
  const prices = async (fetched: ReturnType<typeof fetchPrices>) =>
    (await fetched).map((each) => ("reading" in each ? decimalText(each.reading.price) : each.failure));
  const [now] = await prices(fetchPrices(context, [{ source: "sandbox", symbol: "btc" }]));
  expect(now).toMatch(/^(9[5-9]|10[0-5])\d{3}\.\d+$/);
  const later = { ...context, now: async () => instant + 3_600_000 };
  expect(await prices(fetchHistory(later, [{ source: "sandbox", symbol: "btc" }], instant))).toEqual([now]);
  expect(await prices(fetchPrices(context, [{ source: "other", symbol: "btc" }]))).not.toEqual([now]);
  await http.close();
});
