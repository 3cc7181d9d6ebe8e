import { afterEach, describe, expect, test } from "vitest";
import { tenantOfTests } from "./support/during-tests.ts";
import { PUBLIC_KEY, userToken } from "./support/harness.ts";
import { expectRefusal } from "./support/requests.ts";

const refused: [reason: string, address: string][] = [];
const open: AbortController[] = [];
const tenant = tenantOfTests({
  trustProxy: ["127.0.0.1/32"],
  limits: { streams: 5, streamsPerAddress: 3, streamsPerUser: 2 },
  onRefused: (reason, address) => refused.push([reason, address]),
});
afterEach(async () => {
  for (const each of open.splice(0)) each.abort();
  await expect.poll(streams).toBe(0);
  refused.length = 0;
});

async function streams(): Promise<number> {
  const text = await (await fetch(`${tenant.server.opsUrl}/metrics`)).text();
  return Number(/^pmctl_streams (\d+)$/m.exec(text)?.[1]);
}

/** Opens a stream, or is refused one. */
async function watch(address: string, user?: string, method = "GET"): Promise<Response> {
  const abort = new AbortController();
  open.push(abort);
  const authorization = user === undefined ? {} : { authorization: `Bearer ${await userToken({ sub: user })}` };
  const headers = { "x-api-key": PUBLIC_KEY, "x-forwarded-for": address, ...authorization };
  return fetch(`${tenant.url}/v1/stream`, { method, headers, signal: abort.signal });
}

async function expectFull(response: Response, address: string): Promise<void> {
  expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
  await expectRefusal(response, 429, "OVERLOADED");
  expect(refused.splice(0)).toEqual([["stream", address]]);
}

describe("streams of events", () => {
  test("of one address are limited, HEAD included, and a closed one makes room", async () => {
    for (let n = 0; n < 3; n += 1) expect((await watch("192.0.2.1")).status).toBe(200);
    await expectFull(await watch("192.0.2.1"), "192.0.2.1");
    expect((await watch("192.0.2.1", undefined, "HEAD")).status).toBe(429);
    refused.length = 0;
    expect((await watch("192.0.2.2")).status).toBe(200);
    expect(await streams()).toBe(4);
    open[0]?.abort();
    await expect.poll(streams).toBe(3);
    expect((await watch("192.0.2.1")).status).toBe(200);
  });

  test("of one user are limited, from whatever address", async () => {
    for (const address of ["192.0.2.1", "192.0.2.2"]) expect((await watch(address, "ann")).status).toBe(200);
    await expectFull(await watch("192.0.2.3", "ann"), "192.0.2.3");
    expect((await watch("192.0.2.3", "bob")).status).toBe(200);
    expect((await watch("192.0.2.3")).status).toBe(200);
  });

  test("are limited in all, with IPv6 clients counted by their /64", async () => {
    for (const last of [1, 2, 3]) expect((await watch(`2001:db8::${last}`)).status).toBe(200);
    await expectFull(await watch("2001:db8::4"), "2001:db8:0:0::/64");
    for (const last of [1, 2]) expect((await watch(`192.0.2.${last}`)).status).toBe(200);
    await expectFull(await watch("192.0.2.9"), "192.0.2.9");
  });
});
