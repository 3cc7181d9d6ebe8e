import { createHmac } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseDecimal } from "../../src/domain/decimal.ts";
import type { FeedDefinition } from "../../src/domain/feeds/feed.ts";
import { decide } from "../../src/domain/market/resolution.ts";
import type { MarketTerms } from "../../src/domain/market/terms.ts";
import { readRecords } from "../../src/oracle/records.ts";
import { listTicks } from "../../src/queries/oracle.ts";
import type { RunningServer } from "../../src/server/server.ts";
import { type Backend, openBackend, serve, TENANT, WEBHOOK_SECRET } from "../server/support/harness.ts";
import { openStage, type Stage } from "./stage.ts";

let stage: Stage;
let backend: Backend;
let server: RunningServer;
beforeAll(async () => {
  [stage, backend] = await Promise.all([openStage(1), openBackend()]);
  server = await serve(backend, stage.scene.processes[0]?.handlers ?? {});
});
afterAll(async () => {
  await server.close();
  await backend.close();
  await stage.close();
});

async function push(event: object | string, secret = WEBHOOK_SECRET): Promise<number> {
  const body = typeof event === "string" ? event : JSON.stringify(event);
  const response = await fetch(`${server.url}/oracle/inbound/${TENANT}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-signature": createHmac("sha256", secret).update(body).digest("hex"),
    },
    body,
  });
  return response.status;
}

test("a pushed price is kept when its signature holds, digit for digit, and its first value stays", async () => {
  const observedAt = new Date(Date.now() - 1000).toISOString();
  const event = { source: "desk", id: "index", price: "0.10000000000000000001", observedAt };
  expect(await push(event, "the secret of another pusher of prices")).toBe(401);
  expect(await push(event)).toBe(200);
  expect(await push({ ...event, price: "7" })).toBe(200);
  for (const wrong of [
    { price: "1e5" },
    { price: "1,5" },
    { source: "a" },
    { observedAt: "2096-01-01T00:00:00Z" },
    { observedAt: "yesterday" },
  ])
    expect([wrong, await push({ ...event, ...wrong })]).toEqual([wrong, 400]);
  const pool = stage.scene.processes[0]?.pool;
  const ticks = await pool?.read((sql) =>
    listTicks(sql, [{ source: "desk", symbol: "index" }], 0, stage.scene.processes[0]?.auditKeys ?? []),
  );
  expect(ticks).toMatchObject([{ observedAt: Date.parse(observedAt), price: "0.10000000000000000001" }]);
});

test("a price that is pushed as a number keeps every digit too: 0.1 and a little is above 0.1", async () => {
  const observedAt = new Date(Date.now() - 1000).toISOString();
  const text = (price: string) => `{"source":"desk","id":"fine","observedAt":"${observedAt}","price":${price}}`;
  expect(await push(text("1e400"))).toBe(400);
  expect(await push(text("0.10000000000000000001"))).toBe(200);
  const pool = stage.scene.processes[0]?.pool;
  const ticks = await pool?.read((sql) =>
    listTicks(sql, [{ source: "desk", symbol: "fine" }], 0, stage.scene.processes[0]?.auditKeys ?? []),
  );
  expect(ticks).toMatchObject([{ price: "0.10000000000000000001" }]);
});

test("a price from before the close that arrives after it settles nothing: the market waits for one from the close on", async () => {
  const { id, closeAt } = await stage.closedMarket("acme:desk > 800");
  const at = (ms: number) => new Date(closeAt + ms).toISOString();
  const show = (price: string, ms: number) => push({ source: "desk", id: "index", price, observedAt: at(ms) });
  const status = async () => {
    const market = await stage.scene.api().getMarket({ id });
    return market.outcome ?? market.status;
  };
  await stage.databasePasses(closeAt + 2000);
  // The source sends its buffer in order, and the first of it would win.
  expect(await show("900", -30_000)).toBe(200);
  const first = await stage.sweepAt(closeAt + 3000);
  expect(first).toMatchObject({ settled: [], held: [{ marketId: id, reason: "feed down" }] });
  expect(await show("700", -1)).toBe(200);
  expect(await stage.sweepAt(closeAt + 4000)).toMatchObject({ settled: [] });
  expect(await status()).toBe("closed");
  expect(await show("999", 0 + 1)).toBe(200);
  expect(await stage.sweepAt(closeAt + 5000)).toMatchObject({ settled: [id] });
  expect(await status()).toBe("no");
});

test("however pushes are delayed, reordered and repeated, only one from the close on decides, and by the last before it", async () => {
  const [services] = stage.scene.processes;
  const [context] = stage.contexts;
  if (!services || !context) throw new Error("a stage has a process");
  const feed = services.oracle.feeds.get("acme:desk") as FeedDefinition;
  const instant = Date.now() - 100_000;
  const terms = { instant, rule: { kind: "last" }, comparator: ">", strike: "0" } as unknown as MarketTerms;
  let symbol = 0;
  const delivery = fc
    .uniqueArray(fc.integer({ min: -59_000, max: 59_000 }), { minLength: 1, maxLength: 6 })
    .chain((times) =>
      fc
        .array(fc.constantFrom(...times), { maxLength: 6 })
        .chain((again) =>
          fc
            .shuffledSubarray([...times.keys()], { minLength: times.length })
            .map((order) => [...order.map((index) => times[index] as number), ...again]),
        ),
    );
  await fc.assert(
    fc.asyncProperty(delivery, async (arrivals) => {
      const id = `p${symbol++}`;
      const pushed = { ...feed, sources: [{ use: "desk", id }] };
      const arrived = new Set<number>();
      for (const ms of arrivals) {
        const event = { source: "desk", id, price: String(100_000 + ms), observedAt: instant + ms };
        await services.handlers.receivePrice?.(event as never, { actor: "provider:oracle" });
        arrived.add(ms);
        const records = await services.pool.read((sql) =>
          readRecords(sql, pushed, terms, context.sources, services.auditKeys),
        );
        const verdict = decide(pushed, terms, records);
        const before = [...arrived].filter((each) => each <= 0);
        const isDecided = before.length > 0 && [...arrived].some((each) => each >= 0);
        expect(verdict.kind).toBe(isDecided ? "resolved" : "held");
        if (verdict.kind === "resolved")
          expect(verdict.price).toEqual(parseDecimal(String(100_000 + Math.max(...before))));
      }
    }),
    { numRuns: 40, seed: 5 },
  );
});
