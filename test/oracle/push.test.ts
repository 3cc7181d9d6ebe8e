import { createHmac } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
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
  expect(await push(event, "another secret of somebody else")).toBe(401);
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
  const ticks = await pool?.read((sql) => listTicks(sql, [{ source: "desk", symbol: "index" }], 0));
  expect(ticks).toMatchObject([{ observedAt: Date.parse(observedAt), price: "0.10000000000000000001" }]);
});

test("a price that is pushed as a number keeps every digit too: 0.1 and a little is above 0.1", async () => {
  const observedAt = new Date(Date.now() - 1000).toISOString();
  const text = (price: string) => `{"source":"desk","id":"fine","observedAt":"${observedAt}","price":${price}}`;
  expect(await push(text("1e400"))).toBe(400);
  expect(await push(text("0.10000000000000000001"))).toBe(200);
  const pool = stage.scene.processes[0]?.pool;
  const ticks = await pool?.read((sql) => listTicks(sql, [{ source: "desk", symbol: "fine" }], 0));
  expect(ticks).toMatchObject([{ price: "0.10000000000000000001" }]);
});
