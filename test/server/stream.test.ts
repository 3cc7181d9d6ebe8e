import { once } from "node:events";
import { connect, Socket } from "node:net";
import { afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { localApi } from "../../src/client/local-api.ts";
import { streamEvents } from "../../src/contract/resources/stream.ts";
import { EventStream, formatEvent } from "../../src/server/streams/event-stream.ts";
import { AuditTail } from "../../src/services/audit/audit-tail.ts";
import { tradeOf, usd } from "../engine/world.ts";
import { ownTime } from "../support/own-time.ts";
import { tenantOfTests } from "./support/during-tests.ts";
import { EXPIRED_KEY, PUBLIC_KEY, serve, userToken } from "./support/harness.ts";
import { expectRefusal } from "./support/requests.ts";
import { serveTenant } from "./support/tenant.ts";

/** Fields of an event, as far as these tests name them. */
interface Data {
  marketId?: string;
  markets?: { marketId: string }[];
  [field: string]: unknown;
}

interface Received {
  event: string;
  id: string | undefined;
  data: Data;
}

const tenant = tenantOfTests({ streamHeartbeatMs: 200 });
const open: { stop: () => Promise<void> }[] = [];
beforeAll(async () => {
  await tenant.deposit("ann", 1000);
  await tenant.deposit("bob", 1000);
  await tenant.openMarket("m1");
  await tenant.openMarket("m2", { p0Ppm: 200_000 });
});
afterEach(async () => {
  for (const stream of open.splice(0)) await stream.stop();
});

/** Reads a stream as a page does, with `fetch`. */
async function watch(query = "", headers: Record<string, string> = {}, url = tenant.url) {
  const abort = new AbortController();
  const response = await fetch(`${url}/v1/stream${query}`, {
    headers: { "x-api-key": PUBLIC_KEY, ...headers },
    signal: abort.signal,
  });
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  const events: Received[] = [];
  const comments: string[] = [];
  let text = "";
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const fields = new Map(
          text
            .slice(0, end)
            .split("\n")
            .map((line) => line.split(/: (.*)/, 2) as [string, string]),
        );
        text = text.slice(end + 2);
        const event = fields.get("event");
        if (event) events.push({ event, id: fields.get("id"), data: JSON.parse(fields.get("data") ?? "null") });
        else comments.push([...fields.values()].join());
      }
    }
  })().catch(() => {});
  const stop = async () => {
    abort.abort();
    await reading;
  };
  open.push({ stop });
  const until = async (count: number) => expect.poll(() => events.length).toBeGreaterThanOrEqual(count);
  await until(1);
  return { events, comments, until, stop, ended: reading, response };
}

const api = (actor: string) => localApi(tenant.services.handlers, { actor });

let trades = 0;
const trade = (traderId: string, marketId = "m1") =>
  tenant.services.sequencer.submit({
    command: tradeOf({ id: `trd_${++trades}`, marketId, traderId, amountMicro: usd(5) }),
    actor: `user:${traderId}`,
  });
const names = (events: Received[]) => events.map(({ event }) => event);

describe("a stream", () => {
  test("begins with the open markets, and then tells what happens, to each its own", async () => {
    const stream = await watch("", { authorization: `Bearer ${await userToken({ sub: "ann" })}` });
    const other = await watch();
    expect(stream.events[0]).toMatchObject({ event: "snapshot", id: expect.stringMatching(/^\d+$/) });
    expect(stream.events[0]?.data.markets).toContainEqual({
      marketId: "m2",
      yesPrice: 0.2,
      noPrice: 0.8,
      status: "open",
      closeAt: expect.stringMatching(/Z$/),
      clarifications: 0,
    });
    await trade("ann");
    await stream.until(4);
    await other.until(3);
    expect(names(stream.events)).toEqual(["snapshot", "price", "trade", "fill"]);
    expect(names(other.events)).toEqual(["snapshot", "price", "trade"]);
    expect(JSON.stringify(other.events)).not.toContain("ann");
    expect(stream.events[3]?.data).toMatchObject({ marketId: "m1", side: "yes", amount: 5 });
    // Only the last event of an entry carries its id, so that a resume never skips half of it.
    expect(stream.events.map(({ id }) => id !== undefined)).toEqual([true, false, false, true]);
    for (const { event, data } of [...stream.events, ...other.events])
      expect(z.safeParse(streamEvents[event as keyof typeof streamEvents], data).error).toBeUndefined();
  });

  test("tells the states of markets", async () => {
    await tenant.openMarket("m3");
    const stream = await watch("?markets=m3");
    for (const type of ["suspendMarket", "resumeMarket"] as const)
      await tenant.services.sequencer.submit({ command: { type, marketId: "m3" }, actor: "admin:ops" });
    const command = { type: "settleMarket", marketId: "m3", outcome: "no" } as const;
    await tenant.services.sequencer.submit({ command, actor: "admin:ops" });
    await stream.until(4);
    expect(stream.events.slice(1).map(({ event, data }) => [event, data.status, data.outcome])).toEqual([
      ["market", "suspended", undefined],
      ["market", "open", undefined],
      ["market", "settled", "no"],
    ]);
  });

  test("tells ends that no side won", async () => {
    await tenant.openMarket("m4");
    await tenant.openMarket("m5");
    const stream = await watch("?markets=m4,m5");
    const submit = tenant.services.sequencer.submit.bind(tenant.services.sequencer);
    await submit({ command: { type: "settleMarket", marketId: "m4", outcome: "0.4" }, actor: "admin:ops" });
    await submit({ command: { type: "voidMarket", marketId: "m5", reason: "called off" }, actor: "admin:ops" });
    await stream.until(3);
    expect(stream.events.slice(1).map(({ event, data }) => [event, data.status, data.outcome])).toEqual([
      ["market", "settled", { yes: 0.4 }],
      ["market", "settled", "void"],
    ]);
    for (const { data } of stream.events.slice(1)) expect(z.safeParse(streamEvents.market, data).error).toBeUndefined();
  });

  test("tells a text that is added to a market's rules", async () => {
    const stream = await watch("?markets=m1");
    const command = { type: "clarifyMarket", marketId: "m1", id: "c1", text: "Drizzle counts.\n<b>&" } as const;
    await tenant.services.sequencer.submit({ command, actor: "admin:ops" });
    await stream.until(2);
    const { event, data } = stream.events[1] ?? {};
    expect([event, data]).toEqual([
      "clarification",
      { marketId: "m1", id: "c1", text: command.text, ts: expect.stringMatching(/Z$/) },
    ]);
    expect(z.safeParse(streamEvents.clarification, data).error).toBeUndefined();
    // How many there are is part of how the market stands.
    const { markets } = (await watch("?markets=m1,m2")).events[0]?.data ?? {};
    expect(markets).toMatchObject([
      { marketId: "m1", clarifications: 1 },
      { marketId: "m2", clarifications: 0 },
    ]);
  });

  test("tells each step of a proposal about a market, and nothing of other proposals", async () => {
    await tenant.openMarket("m_judged", { resolution: { holdHours: 0, approvals: 2 } });
    const stream = await watch("?markets=m_judged");
    const proposed = await api("admin:ops").settleMarket({ marketId: "m_judged", outcome: { yes: 0.4 } });
    const { proposalId } = proposed as unknown as { proposalId: string };
    await api("admin:ops").rejectProposal({ id: proposalId, reason: "Wrong" });
    const again = await api("admin:ops").voidMarket({ id: "m_judged", reason: "It broke" });
    await api("admin:eve").approveProposal({ id: (again as unknown as { proposalId: string }).proposalId });
    await stream.until(8);
    await tenant.openMarket("m_waits", { resolution: { holdHours: 0, approvals: 2 } });
    const third = await api("admin:ops").voidMarket({ id: "m_waits", reason: "It broke" });
    const { markets } = (await watch("?markets=m_judged,m_waits")).events[0]?.data ?? {};
    expect(markets?.find(({ marketId }) => marketId === "m_waits")).toMatchObject({
      proposalId: (third as unknown as { proposalId: string }).proposalId,
    });
    expect(markets?.find(({ marketId }) => marketId === "m_judged")).not.toHaveProperty("proposalId");
    const told = stream.events.filter(({ event }) => event === "proposal").map(({ data }) => data);
    for (const data of told) expect(z.safeParse(streamEvents.proposal, data).error).toBeUndefined();
    const time = expect.stringMatching(/Z$/);
    const named = { marketId: "m_judged", finalAt: time, ts: time };
    expect(told.map(({ proposalId: _, ...rest }) => rest)).toEqual([
      { ...named, kind: "settle", outcome: { yes: 0.4 }, status: "pending" },
      { ...named, kind: "settle", outcome: { yes: 0.4 }, status: "rejected" },
      { ...named, kind: "void", outcome: "void", status: "pending" },
      { ...named, kind: "void", outcome: "void", status: "pending" },
      { ...named, kind: "void", outcome: "void", status: "executed" },
    ]);
    expect(told[0]).toHaveProperty("proposalId", proposalId);
  });

  test("may be of some markets only", async () => {
    const stream = await watch("?markets=m2,unknown");
    expect(stream.events[0]?.data.markets?.map(({ marketId }) => marketId)).toEqual(["m2"]);
    await trade("bob", "m1");
    await trade("bob", "m2");
    await stream.until(3);
    expect(stream.events.slice(1).map(({ data }) => data.marketId)).toEqual(["m2", "m2"]);
  });

  test("goes on where it broke off, without a gap and without a repeat", async () => {
    const first = await watch();
    await trade("bob");
    await first.until(3);
    const lastId = first.events.at(-1)?.id ?? "";
    await first.stop();
    await trade("bob");
    await trade("ann", "m2");
    const second = await watch("", { "last-event-id": lastId });
    await trade("bob");
    await second.until(6);
    expect(names(second.events)).toEqual(["price", "trade", "price", "trade", "price", "trade"]);
    const seen = second.events.filter(({ id }) => id).map(({ id }) => Number(id));
    expect(seen).toEqual([1, 2, 3].map((n) => Number(lastId) + n));
  });

  test("goes on at another server without a gap, also at one that has not followed the log so far", async () => {
    const { backend, services } = tenant;
    // The other server's look at the log hangs for as long as the gate is closed.
    let gate = Promise.resolve();
    const tail = new AuditTail({ read: (query) => gate.then(() => services.pool.read(query)) }, services.isSealed);
    const other = await serve(backend, services.handlers, { services: { ...services, tail } });
    onTestFinished(async () => {
      tail.close();
      await other.close();
    });
    const kept = await watch("", {}, other.url);
    const first = await watch();
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    await trade("bob");
    await first.until(3);
    const lastId = first.events.at(-1)?.id ?? "";
    await first.stop();
    const second = watch("", { "last-event-id": lastId }, other.url);
    await trade("ann");
    resolve();
    const { events, until } = await second;
    await until(2);
    expect(names(events)).toEqual(["price", "trade"]);
    expect(events[1]?.id).toBe(String(Number(lastId) + 1));
    await kept.until(5);
  });

  test("shows nothing that the database has not confirmed, and all of it then", async () => {
    const asked = Promise.withResolvers<void>();
    const confirmed = Promise.withResolvers<void>();
    const known = tenant.services.evidence.acknowledged?.seq ?? 0n;
    const tail = new AuditTail(tenant.services.pool, tenant.services.isSealed, undefined, {
      acknowledged: () => known,
      confirm: () => {
        asked.resolve();
        return confirmed.promise;
      },
    });
    onTestFinished(() => tail.close());
    const shown: bigint[] = [];
    const { position } = await tail.follow((entries) => shown.push(...entries.map(({ seq }) => seq)));
    await trade("bob");
    await asked.promise;
    expect(shown).toEqual([]);
    confirmed.resolve();
    await vi.waitFor(() => expect(shown).toEqual([position + 1n]), { timeout: 60_000 });
  });

  test("that opens goes on from no entry that the database has not confirmed, nor shows one in its snapshot", async () => {
    const { backend, services } = tenant;
    const asked: (() => void)[] = [];
    const tail = new AuditTail(services.pool, services.isSealed, undefined, {
      acknowledged: () => 0n,
      confirm: () => new Promise((resolve) => asked.push(resolve)),
    });
    const other = await serve(backend, services.handlers, { services: { ...services, tail } });
    onTestFinished(async () => {
      tail.close();
      await other.close();
    });
    let isOpen = false;
    const opening = watch("", {}, other.url).then(() => {
      isOpen = true;
    });
    for (const times of [1, 2]) {
      await vi.waitFor(() => expect(asked).toHaveLength(times), { timeout: 60_000 });
      expect(isOpen).toBe(false);
      asked[times - 1]?.();
    }
    await opening;
  });

  test.each(["999999999", "-1", "abc", ""])("after the id %j begins afresh", async (lastId) => {
    expect((await watch("", { "last-event-id": lastId })).events[0]?.event).toBe("snapshot");
  });

  test("many trades arrive on many streams, each once and in order", async () => {
    const streams = await Promise.all(Array.from({ length: 10 }, () => watch()));
    const count = 60;
    await Promise.all(Array.from({ length: count }, (_, n) => trade(n % 2 ? "ann" : "bob")));
    for (const stream of streams) {
      await stream.until(1 + 2 * count);
      const ids = stream.events.filter(({ event }) => event === "trade").map(({ id }) => Number(id));
      expect(ids).toEqual(ids.toSorted((a, b) => a - b));
      expect(new Set(ids).size).toBe(count);
    }
  });

  test("shows that it is alive", async () => {
    const stream = await watch();
    await expect.poll(() => stream.comments).toContain("still here");
    expect(stream.response.headers.get("x-accel-buffering")).toBe("no");
  });

  test("is one request against the limit, however much it tells", async () => {
    const remaining = (response: Response) => Number(response.headers.get("ratelimit-remaining"));
    const { response, until } = await watch();
    for (let n = 0; n < 5; n++) await trade("ann");
    await until(6);
    expect(remaining(await fetch(`${tenant.url}/health`))).toBe(remaining(response) - 1);
  });

  test("leaves out an entry that is not as it was sealed, and goes on", async () => {
    const { sql } = tenant.backend;
    await sql`
      create function tamper() returns trigger language plpgsql as $$
        begin
          new.payload := replace(new.payload, '"amount":"5"', '"amount":"500"');
          return new;
        end $$`;
    await sql`
      create trigger tamper before insert on audit for each row when (new.actor = 'user:ann') execute function tamper()`;
    const stream = await watch();
    await Promise.all([trade("ann"), trade("bob")]);
    await sql`drop trigger tamper on audit`;
    await stream.until(3);
    expect(names(stream.events)).toEqual(["snapshot", "price", "trade"]);
    const resumed = await watch("", { "last-event-id": stream.events[0]?.id ?? "" });
    await resumed.until(2);
    expect(names(resumed.events)).toEqual(["price", "trade"]);
  });

  test("ends when its credentials do", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const now = Math.floor(Date.now() / 1000);
    const claims = { sub: "ann", iat: now - 100, exp: now + 100 };
    const stream = await watch("", { authorization: `Bearer ${await userToken(claims)}` });
    vi.setSystemTime((now + 131) * 1000);
    await stream.ended;
    expect(stream.events.at(-1)).toMatchObject({ event: "resync", data: { reason: "credentials" } });
  });

  test("is refused like any other request", async () => {
    const get = (query: string, headers: Record<string, string>) =>
      fetch(`${tenant.url}/v1/stream${query}`, { headers });
    await expectRefusal(await get("", {}), 401, "KEY_INVALID");
    await expectRefusal(await get("", { "x-api-key": EXPIRED_KEY }), 401, "KEY_INVALID");
    const headers = { "x-api-key": PUBLIC_KEY };
    await expectRefusal(await get("", { ...headers, authorization: "Bearer x" }), 401, "USER_REQUIRED");
    await expectRefusal(await get("?markets=", headers), 400, "BAD_REQUEST");
    await expectRefusal(await get(`?markets=${"x".repeat(70)}`, headers), 400, "BAD_REQUEST");
  });
});

test("a client that does not read is dropped within bounds, and told to come back", async () => {
  const stream = new EventStream(new Socket());
  let ends = 0;
  stream.onEnd = () => {
    ends += 1;
  };
  const chunk = formatEvent("price", { filler: "x".repeat(1000) });
  let sent = 0;
  for (; !stream.ended && sent < 1000; sent++) stream.send(chunk);
  expect([ends, stream.ended]).toEqual([1, true]);
  expect(sent * chunk.length).toBeLessThan(300 * 1024);
  const text = await new Response(stream.body).text();
  expect(text).toMatch(/retry: \d+\nevent: resync\ndata: {"reason":"slow"}\n\n$/);
});

test("streams end with the server, with a time to come back", async () => {
  const other = await serveTenant();
  const request = `GET /v1/stream HTTP/1.1\r\nhost: x\r\nx-api-key: ${PUBLIC_KEY}\r\n\r\n`;
  const socket = connect(other.server.port, "127.0.0.1").setEncoding("utf8");
  let received = "";
  socket.on("data", (text) => {
    received += text;
  });
  const ended = once(socket, "close");
  socket.write(request);
  await expect.poll(() => received).toContain("event: snapshot");
  const elapsed = ownTime();
  await other.close();
  // Below the 25 s after which a closing server stops waiting for clients.
  expect(elapsed()).toBeLessThan(20_000);
  await ended;
  expect(received).toMatch(/event: snapshot[\s\S]*retry: \d+\nevent: resync\ndata: {"reason":"shutdown"}/);
});
