import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { enableReceiver } from "../../src/ledger/unchained/webhook-replay.ts";
import type { Reader } from "../../src/postgres/pool.ts";
import { AuditTail } from "../../src/services/audit/audit-tail.ts";
import { poolOf } from "../support/pool.ts";
import { answer, hang, type TestReceiver } from "./support/receiver.ts";
import { receiverAt, Stage } from "./support/stage.ts";

let stage: Stage;
let receiver: TestReceiver;
beforeEach(async () => {
  stage = await Stage.open();
  receiver = await stage.receiver();
});
afterEach(() => stage.close());

const deposits = async (count: number) => {
  for (let index = 0; index < count; index++) await stage.tenant.deposit("usr_1", 1);
};

describe("several processes", () => {
  test("share the deliveries and send each once", async () => {
    const workers = Array.from({ length: 4 }, () => stage.worker([receiverAt(receiver.url)]));
    await workers[0]?.tick();
    await deposits(60);
    await Promise.all(workers.map((worker) => worker.tick()));
    await Promise.all(workers.map((worker) => worker.tick()));
    expect(receiver.received).toHaveLength(60);
    expect(receiver.ids.size).toBe(60);
  });

  test("take over what one of them had begun when it died, after its lease", async () => {
    const worker = stage.worker([receiverAt(receiver.url)]);
    await worker.tick();
    await deposits(1);
    // What a process that is killed in the middle of an attempt leaves behind.
    receiver.behave = hang;
    const dying = stage.worker([receiverAt(receiver.url)], { timeoutMs: 60_000 });
    const tick = dying.tick().catch(() => {});
    await receiver.until(1);
    receiver.behave = answer(200);
    await worker.tick();
    expect(receiver.received).toHaveLength(1);
    stage.advance(80_001);
    await worker.tick();
    expect(receiver.received).toHaveLength(2);
    expect(await stage.deliveries()).toMatchObject([{ status: "delivered", attempts: 2 }]);
    // The first attempt ends late, and changes nothing any more.
    await dying.stop();
    await tick;
    expect(await stage.deliveries()).toMatchObject([{ status: "delivered", attempts: 2, last_status: 200 }]);
  });
});

describe("a receiver that hangs", () => {
  test("delays neither another receiver nor a trade", async () => {
    const dead = await stage.receiver();
    dead.behave = hang;
    const worker = stage.worker(
      [receiverAt(dead.url, { name: "dead" }), receiverAt(receiver.url, { events: ["order.filled"] })],
      { timeoutMs: 60_000, tail: stage.tenant.services.tail },
    );
    await worker.start();
    await deposits(20);
    await dead.until(8);
    const marketId = await stage.tenant.market();
    for (let index = 0; index < 5; index++)
      await stage.tenant.api("usr_1").placeTrade({ marketId, selection: { side: "yes" }, amount: 1 });
    await receiver.until(5);
    // Its own queue is bounded: no more than eight attempts at once.
    expect(dead.received).toHaveLength(8);
    const sequences = receiver.received.map(({ data }) => Number(data.sequence));
    expect(new Set(sequences).size).toBe(5);
    await worker.stop();
  });
});

describe("a receiver that is down", () => {
  test("leaves few retries behind: fresh events wait, and come at once when it is back", async () => {
    receiver.behave = answer(500);
    const worker = stage.worker([receiverAt(receiver.url)]);
    await worker.tick();
    await deposits(60);
    await worker.tick();
    const tried = receiver.ids.size;
    expect(tried).toBeGreaterThanOrEqual(20);
    expect(tried).toBeLessThan(30);
    receiver.behave = answer(200);
    stage.advance(10_000);
    await worker.tick();
    stage.advance(20_000);
    await worker.tick();
    expect(receiver.ids.size).toBe(60);
    expect(new Set((await stage.deliveries()).map(({ status }) => status))).toEqual(new Set(["delivered"]));
  });

  test("shows since when its oldest event waits", async () => {
    receiver.behave = answer(500);
    const worker = stage.worker([receiverAt(receiver.url)]);
    await worker.tick();
    expect(worker.oldest.size).toBe(0);
    await deposits(2);
    const [first] = await stage.tenant.sql`select ts from audit order by seq desc offset 1 limit 1`;
    await worker.tick();
    expect(worker.oldest).toEqual(new Map([["crm", Date.parse(first?.ts)]]));
    receiver.behave = answer(200);
    stage.advance(30_000);
    await worker.tick();
    expect(worker.oldest.size).toBe(0);
  });
});

test("deliveries are forgotten after a week when they arrived, and after a month in any case", async () => {
  const DAY = 24 * 3600 * 1000;
  const dead = await stage.receiver();
  dead.behave = answer(410);
  const worker = stage.worker([receiverAt(receiver.url), receiverAt(dead.url, { name: "dead" })]);
  await worker.tick();
  await deposits(1);
  await worker.tick();
  const kept = async () => (await stage.deliveries()).map(({ receiver: name, status }) => [name, status]);
  expect(await kept()).toEqual([
    ["crm", "delivered"],
    ["dead", "dead"],
  ]);
  stage.advance(7 * DAY + 60_000);
  await worker.tick();
  expect(await kept()).toEqual([["dead", "dead"]]);
  stage.advance(23 * DAY);
  await worker.tick();
  expect(await kept()).toEqual([]);
});

test("a receiver that was disabled for two months is told all that it has not been told when it is enabled again", async () => {
  const worker = stage.worker([receiverAt(receiver.url)]);
  await worker.tick();
  receiver.behave = answer(500);
  await deposits(1);
  await worker.tick();
  receiver.behave = answer(410);
  await stage.tenant.deposit("usr_2", 1);
  await worker.tick();
  const states = async () => (await stage.deliveries()).map(({ status }) => status);
  expect(await states()).toEqual(["pending", "dead"]);
  await stage.tenant.deposit("usr_3", 1);
  stage.advance(60 * 24 * 3600 * 1000);
  await worker.tick();
  expect(await states()).toEqual(["pending"]);
  receiver.behave = answer(200);
  await enableReceiver(stage.tenant.sql, "crm");
  receiver.received.length = 0;
  await worker.tick();
  expect(receiver.received.map(({ data }) => data.userId).sort()).toEqual(["usr_1", "usr_3"]);
  // What arrived today is on view for its week, however old the event.
  expect(await states()).toEqual(["delivered", "delivered"]);
});

test("what is to be forgotten is forgotten at once, however much it is, also for a tenant that has no receivers any more", async () => {
  const worker = stage.worker([]);
  await stage.tenant.sql`
    insert into webhook_delivery (receiver, event_id, seq, type, status, attempts, created_at, next_attempt_at)
    select 'left', 'evt_' || n, n, 'order.filled', 'pending', 0, 0, 0 from generate_series(1, 2500) as n`;
  await worker.start();
  expect(await stage.deliveries()).toEqual([]);
});

test("a log with more than a page of entries is told to its end, and what is not asked for is passed over", async () => {
  const worker = stage.worker([receiverAt(receiver.url, { events: ["market.created"] })]);
  await worker.tick();
  // In parts, since who waits for two seconds is told to come back.
  for (let part = 0; part < 11; part++)
    await Promise.all(Array.from({ length: 100 }, (_, index) => stage.tenant.deposit(`usr_${part}_${index}`, 1)));
  await stage.tenant.market();
  await worker.tick();
  expect(receiver.received.map(({ type }) => type)).toEqual(["market.created"]);
});

test("a worker that could not follow the log at its start follows it once the database answers", async () => {
  const pool = poolOf(stage.tenant.sql);
  let asked = 0;
  const reader: Reader = {
    read: async (ask) => {
      asked += 1;
      if (asked <= 2) throw new Error("the database is away");
      return pool.read(ask);
    },
  };
  const tail = new AuditTail(reader, stage.tenant.services.isSealed);
  const errors: unknown[] = [];
  const worker = stage.worker([receiverAt(receiver.url)], { tail, onError: (error) => errors.push(error) });
  await worker.start();
  // Rounds of a tail that is followed, beyond the one read that each attempt makes.
  await vi.waitFor(() => expect(asked).toBeGreaterThan(4), { timeout: 60_000 });
  await worker.stop();
  tail.close();
  expect(errors).toHaveLength(1);
});
