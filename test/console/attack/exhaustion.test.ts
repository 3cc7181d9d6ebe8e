import { describe, expect, test } from "vitest";
import { localApi } from "../../../src/client/local-api.ts";
import { SignInLimit } from "../../../src/server/console/sign-in-limit.ts";
import { CONSOLE, ConsoleClient } from "../../server/support/console.ts";
import { tenantOfTests } from "../../server/support/during-tests.ts";
import { ADMIN_KEY } from "../../server/support/harness.ts";
import { exchangeRaw, parseRaw } from "../../server/support/requests.ts";

const STREAMS = 5;
const tenant = tenantOfTests({
  console: CONSOLE,
  trustProxy: ["127.0.0.1/32"],
  // No regular check of the streams ends them here.
  streamHeartbeatMs: 3_600_000,
  limits: { streamsPerAddress: STREAMS, bodySeconds: 1, headersSeconds: 1 },
});
const client = () => new ConsoleClient(tenant.server.opsUrl);
const tries = async (address: string, key = "sk_wrong") =>
  (await client().post("/console/session", { key }, { "x-forwarded-for": address })).status;

describe("guesses of keys", () => {
  test("of one customer's IPv6 network count together, and in no other network", async () => {
    for (let host = 1; host <= 5; host += 1) expect(await tries(`2001:db8:1:2::${host}`)).toBe(401);
    expect(await tries("2001:db8:1:2:ffff:ffff:ffff:ffff", ADMIN_KEY)).toBe(429);
    expect(await tries("2001:db8:1:3::1", ADMIN_KEY)).toBe(200);
  });

  test("count for the address that the proxy saw, whatever the client writes before it or however it is written", async () => {
    for (let at = 1; at <= 5; at += 1) expect(await tries(`198.51.100.${at}, 203.0.113.77`)).toBe(401);
    for (const address of ["203.0.113.77", "192.0.2.1, 203.0.113.77", "::ffff:203.0.113.77", "203.0.113.77, 127.0.0.1"])
      expect([address, await tries(address, ADMIN_KEY)]).toEqual([address, 429]);
    expect(await tries("198.51.100.1", ADMIN_KEY)).toBe(200);
  });

  test("are in the security log under the sign-in, also where the same address was refused elsewhere in that minute", async () => {
    const headers = { "x-forwarded-for": "203.0.113.99", "x-api-key": "sk_wrong" };
    await fetch(`${tenant.url}/v1/policy`, { headers });
    await tries("203.0.113.99");
    await tries("203.0.113.99");
    const { entries } = await localApi(tenant.services.handlers, { actor: "cli:test" }).listSecurityEvents({});
    const here = entries.filter(({ address, event }) => address === "203.0.113.99" && event === "auth.failed");
    const counts = Map.groupBy(here, ({ route }) => route);
    const sum = (route: string) => counts.get(route)?.reduce((total, { count }) => total + count, 0);
    expect([sum("/console/session"), sum("/v1/policy")]).toEqual([2, 1]);
  });

  test("of ever new addresses take a bounded part of the memory; the count in the database goes on", async () => {
    const limit = new SignInLimit({ read: async () => undefined, note: async () => undefined } as never);
    for (let at = 0; at < 5; at += 1) await limit.refused("first");
    expect(() => limit.require("first")).toThrow("Too many refused sign-ins");
    for (let at = 0; at < 10_000; at += 1) await limit.refused(`other ${at}`);
    expect(() => limit.require("first")).not.toThrow();
  });
});

describe("a session", () => {
  const openStream = async ({ cookie }: ConsoleClient) => {
    const response = await fetch(`${tenant.server.opsUrl}/console/api/v1/stream?markets=mkt_none`, {
      headers: { cookie: cookie ?? "", "sec-fetch-site": "same-origin" },
    });
    return { status: response.status, code: response.headers.get("error-code"), ended: response.text() };
  };

  test("opens a bounded number of streams, which end at once when it is signed out, and no others do", async () => {
    const [leaving, staying] = [client(), client()];
    await leaving.signIn();
    await staying.signIn();
    const kept = await openStream(staying);
    const streams = await Promise.all(Array.from({ length: STREAMS + 3 }, () => openStream(leaving)));
    const open = streams.filter(({ status }) => status === 200);
    expect(open).toHaveLength(STREAMS - 1);
    for (const { status, code } of streams.filter((each) => !open.includes(each)))
      expect([status, code]).toEqual([429, "OVERLOADED"]);
    expect((await leaving.send("DELETE", "/console/session")).status).toBe(200);
    for (const { ended } of open) expect(await ended).toContain('"reason":"credentials"');
    expect(await Promise.race([kept.ended, "open"])).toBe("open");
    expect((await openStream(staying)).status).toBe(200);
  });

  test("is not needed to be turned away: large and slow bodies of strangers are neither read nor waited for", async () => {
    const large = "x".repeat(200 * 1024);
    expect((await client().post("/console/session", `{"key":"${large}"}`)).status).toBe(400);
    expect((await client().post("/console/api/v1/config", large)).status).toBe(401);
    const { port } = new URL(tenant.server.opsUrl);
    const head = (path: string) =>
      [
        `POST ${path} HTTP/1.1`,
        `host: 127.0.0.1:${port}`,
        `origin: ${tenant.server.opsUrl}`,
        "content-length: 1000",
      ].join("\r\n");
    for (const path of ["/console/session", "/console/api/v1/config"]) {
      const received = await exchangeRaw(
        Number(port),
        `${head(path)}\r\ncontent-type: application/json\r\n\r\n{"key":`,
      );
      expect([path, parseRaw(received).status >= 400 || received === ""]).toEqual([path, true]);
    }
  });

  test("is found among thousands of cookies, and more than a request may hold are refused", async () => {
    const operator = client();
    await operator.signIn();
    const crowd = (length: number) => Array.from({ length }, (_, at) => `a${at}=b`).join("; ");
    const cookie = (length: number) => `${crowd(length)}; ${operator.cookie}`;
    expect((await operator.get("/console/session", { cookie: cookie(1500) })).status).toBe(200);
    expect((await operator.get("/console/session", { cookie: cookie(5000) })).status).toBe(431);
    // One more of its own name is someone else's.
    expect((await operator.get("/console/session", { cookie: `${cookie(100)}; ${operator.cookie}` })).status).toBe(401);
  });

  test("is made by each of many sign-ins, and stands alone", async () => {
    const many = await Promise.all(
      Array.from({ length: 40 }, async () => {
        const each = client();
        await each.signIn();
        return each;
      }),
    );
    expect(new Set(many.map(({ cookie }) => cookie)).size).toBe(40);
    const answers = await Promise.all(many.map((each) => each.get("/console/session")));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  });
});
