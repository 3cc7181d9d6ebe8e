import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { Fleet } from "./fleet.ts";

/** A server knows the keys as they were a second ago at the most. */
const KNOWN_MS = 1100;

let fleet: Fleet;
beforeAll(async () => {
  fleet = await Fleet.open();
});
afterAll(async () => {
  vi.useRealTimers();
  await fleet?.close();
});

const KEYS = [
  { name: "ops", variable: "ACME_ADMIN_KEY", path: "/v1/audit/status" },
  { name: "ci", variable: "ACME_READ_KEY", path: "/v1/policy" },
  { name: "web", variable: "ACME_PUBLIC_KEY", path: "/v1/markets" },
] as const;

test("admin keys, the read key of pipelines and public keys are replaced while they are used; no server starts over", async () => {
  const old = { ...fleet.values };
  const held: Record<string, string> = { ...old };
  const ask = (url: string, path: string, key = "") => fetch(url + path, { headers: { "x-api-key": key } });
  for (const { name, variable, path } of KEYS) fleet.load(name, (url) => ask(url, path, held[variable]));
  await fleet.everyClient();

  const rotated: Record<string, string> = {};
  for (const { name, variable } of KEYS) {
    const { stdout, stderr } = await fleet.operator.run(
      ...["key", "rotate", name, "-t", "acme", "--overlap", "1h", "-o", "json"],
    );
    const { key } = JSON.parse(stdout || stderr) as { key: string };
    rotated[variable] = key;
  }
  // Where the tenant file takes them from, before the next apply: it would take the old value for the wanted one.
  await delay(KNOWN_MS);
  Object.assign(held, rotated);
  await fleet.everyClient();
  await fleet.change({ values: rotated });
  await delay(KNOWN_MS);
  await fleet.everyClient();
  // The hour of both values is over.
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_700_000 });
  await fleet.everyClient();
  await fleet.quiet();
  for (const { name, variable, path } of KEYS)
    expect([name, await fleet.ofEach((url) => ask(url, path, old[variable as keyof typeof old]))]).toEqual([
      name,
      [401, 401],
    ]);
});
