import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { listenSecret } from "../../src/app/webhooks/forward-events.ts";
import {
  webhookDeliveries,
  webhookDelivery,
  webhookEnable,
  webhookReceivers,
  webhookReplay,
  webhookTest,
} from "../../src/cli/webhook/webhook.ts";
import { runWebhookListen } from "../../src/cli/webhook/webhook-listen.ts";
import { localApi } from "../../src/client/local-api.ts";
import type { WireResult } from "../../src/contract/operations.ts";
import { DeliveryWorker } from "../../src/outgoing/delivery.ts";
import { answer, SECRET, TestReceiver } from "../outgoing/support/receiver.ts";
import { anyMarket } from "../support/market.ts";
import { doors, type TestDoor } from "./support/doors.ts";
import { type Run, runJson, type TestIo, testIo } from "./support/io.ts";

type Delivery = WireResult<"replayWebhook">["replayed"][number];

async function json<Data>(run: Run): Promise<{ data: Data; exit: number; stderr: string }> {
  const { data, ...ending } = await runJson(run);
  return { ...ending, data: data as Data };
}

describe.each(doors)("webhooks through the %s door", (_name, open) => {
  let door: TestDoor;
  let good: TestReceiver;
  let gone: TestReceiver;
  let worker: DeliveryWorker;
  beforeAll(async () => {
    door = await open();
    good = await new TestReceiver().open();
    gone = await new TestReceiver().open();
    gone.behave = answer(410, {}, "we moved");
    const events = ["wallet.credited"] as const;
    worker = new DeliveryWorker({
      pool: door.services.background,
      isSealed: door.services.isSealed,
      receivers: [
        { name: "crm", url: good.url, events, secrets: [SECRET] },
        { name: "gone.example", url: gone.url, events, secrets: [SECRET] },
      ],
      network: { allowPrivate: ["127.0.0.0/8"] },
    });
    await worker.tick();
    for (const user of ["usr_1", "usr_2"]) {
      await door.deposit(user, 5);
      await worker.tick();
    }
  });
  afterAll(async () => {
    await worker.stop();
    await Promise.all([good.close(), gone.close()]);
    await door.close();
  });

  const list = async (options = {}) =>
    (await json<Delivery[]>((io) => webhookDeliveries.run(options, door.api(), io))).data;

  test("an event is named by the beginning of its id, and one that several share is refused with their ids", async () => {
    const [newest] = await list();
    const { eventId = "", deliveryId = "" } = newest ?? {};
    const begun = eventId.slice(0, -6);
    for (const id of [begun, begun.slice(4), `${begun}.crm`]) {
      const replayed = await json<Delivery[]>((io) => webhookReplay.run({ id }, door.api(), io));
      expect(replayed).toMatchObject({ exit: 0, data: [{ deliveryId, status: "pending" }] });
    }
    await worker.tick();
    for (const id of [`${eventId}.nobody`, "evt_1_ffffffff", "evt_1"])
      expect(await json((io) => webhookReplay.run({ id }, door.api(), io))).toMatchObject({ exit: 5 });
  });

  test("under an idempotency key an event is sent again once, and its repeat gets the first result", async () => {
    const api = localApi(door.services.handlers, { actor: "cli:tester" }, { key: "again", adminKey: "ops" });
    const [newest] = await list();
    const sentBefore = good.received.length;
    const replay = { id: newest?.deliveryId ?? "" };
    const first = await api.replayWebhook(replay);
    await worker.tick();
    expect(await api.replayWebhook(replay)).toEqual(first);
    await worker.tick();
    expect(good.received.length).toBe(sentBefore + 1);
    const { entries } = await api.listAudit({ type: "webhook.replayed", limit: 1 });
    expect(entries).toMatchObject([{ payload: { eventId: newest?.eventId, receivers: ["crm"] } }]);
    await expect(api.enableWebhookReceiver({ name: "crm" })).rejects.toMatchObject({ code: "IDEMPOTENCY_MISMATCH" });
  });

  test("deliveries show what was sent to whom, how often, and the last answer", async () => {
    const deliveries = await list();
    expect(deliveries.map(({ receiver, status, attempts }) => [receiver, status, attempts])).toEqual([
      ["crm", "delivered", 1],
      ["gone.example", "dead", 1],
      ["crm", "delivered", 1],
    ]);
    const dead = deliveries.find(({ status }) => status === "dead");
    expect(dead).toMatchObject({
      deliveryId: `${dead?.eventId}.gone.example`,
      type: "wallet.credited",
      nextAttemptAt: null,
      lastAnswer: { status: 410, excerpt: "we moved" },
    });
    expect(await list({ status: "dead" })).toEqual([dead]);
    expect((await list({ receiver: "crm" })).length).toBe(2);
    const [newest] = deliveries;
    const limited = await json<Delivery[]>((io) => webhookDeliveries.run({ limit: 1 }, door.api(), io));
    expect(limited).toMatchObject({ data: [newest], stderr: expect.stringContaining("raise --limit") });
    const pages = await door.api().listWebhookDeliveries({ limit: 2 });
    const rest = await door.api().listWebhookDeliveries({ limit: 2, cursor: pages.nextCursor ?? "" });
    expect([...pages.items, ...rest.items]).toEqual(deliveries);
    expect(rest.nextCursor).toBeNull();
  });

  test("a delivered event is sent again by its delivery's id, under its own id", async () => {
    const [delivery] = await list({ receiver: "crm" });
    const before = good.received.length;
    const { data } = await json<Delivery[]>((io) =>
      webhookReplay.run({ id: delivery?.deliveryId ?? "" }, door.api(), io),
    );
    expect(data).toMatchObject([{ receiver: "crm", status: "pending", attempts: 0 }]);
    await worker.tick();
    expect(good.received.length).toBe(before + 1);
    expect(good.received.at(-1)?.id).toBe(delivery?.eventId);
  });

  test("a disabled receiver is seen, and served again when an operator says so, with what it missed", async () => {
    const state = async () =>
      (await json<WireResult<"listWebhookReceivers">>((io) => webhookReceivers.run({}, door.api(), io))).data.map(
        ({ name, enabled, pending, dead }) => ({ name, enabled, pending, dead }),
      );
    expect(await state()).toEqual([
      { name: "crm", enabled: true, pending: 0, dead: 0 },
      { name: "gone.example", enabled: false, pending: 0, dead: 1 },
    ]);
    gone.behave = answer(200);
    const [dead] = await list({ status: "dead" });
    const enabled = await json<object>((io) => webhookEnable.run({ name: "gone.example" }, door.api(), io));
    expect(enabled.data).toMatchObject({ name: "gone.example", enabled: true, disabledAt: null });
    // By the event's id everybody who was told is told again.
    const again = await json<Delivery[]>((io) => webhookReplay.run({ id: dead?.eventId ?? "" }, door.api(), io));
    expect(again.data.map(({ receiver }) => receiver).toSorted()).toEqual(["crm", "gone.example"]);
    await worker.tick();
    expect((await state()).every(({ pending, dead: letters }) => pending + letters === 0)).toBe(true);
    expect(gone.ids.size).toBe(2);
  });

  test("a receiver is tested by an event of its own, whichever events it asks for; no other receiver gets it", async () => {
    const others = gone.received.length;
    const tested = await json<WireResult<"testWebhookReceiver">>((io) =>
      webhookTest.run({ name: "crm" }, door.api(), io),
    );
    const { sequence } = tested.data;
    await worker.tick();
    expect(good.received.at(-1)).toMatchObject({ type: "webhook.test", data: { sequence, receiver: "crm" } });
    expect(good.forgeries).toEqual([]);
    expect(gone.received.length).toBe(others);
    const { entries } = await door.api().listAudit({ limit: 1 });
    expect(entries).toMatchObject([{ seq: sequence, type: "webhook.tested", payload: { receiver: "crm" } }]);
    const [delivery] = await list();
    expect(delivery).toMatchObject({ receiver: "crm", type: "webhook.test", status: "delivered", sequence });
  });

  test("a delivery shows the exact body that its receiver got", async () => {
    for (const { deliveryId, eventId } of await list({ receiver: "crm" })) {
      const { data } = await json<WireResult<"getWebhookDelivery">>((io) =>
        webhookDelivery.run({ id: deliveryId }, door.api(), io),
      );
      const { id: _, ...received } = good.received.find(({ id }) => id === eventId) ?? {};
      expect(data).toMatchObject({ deliveryId, status: "delivered", body: JSON.stringify(received) });
    }
  });

  test("what does not exist is not found", async () => {
    for (const run of [
      (io: TestIo) => webhookReplay.run({ id: "evt_1_none" }, door.api(), io),
      (io: TestIo) => webhookReplay.run({ id: "." }, door.api(), io),
      (io: TestIo) => webhookEnable.run({ name: "nobody" }, door.api(), io),
      (io: TestIo) => webhookTest.run({ name: "nobody" }, door.api(), io),
      (io: TestIo) => webhookDelivery.run({ id: "evt_1_none.crm" }, door.api(), io),
    ])
      expect((await json(run)).exit).toBe(5);
  });

  test("listen forwards nothing that the primary alone has: neither its place in the log nor an event", async () => {
    const secret = listenSecret("an audit secret of the tests");
    const target = await new TestReceiver(secret).open();
    const stop = new AbortController();
    // The first head is not confirmed, the second is; then a page is not, and the same one is.
    const answers = [false, true, false, true];
    const asked: { seq: number; told: number }[] = [];
    const isConfirmed = async ({ seq }: { seq: number }) => {
      asked.push({ seq, told: target.received.length });
      if (asked.length === 2) await door.api().createMarket(anyMarket({ question: "Is it there?", liquidityUsd: 1 }));
      return answers[asked.length - 1] ?? true;
    };
    const events = ["market.created"] as const;
    const options = { forwardTo: target.url, events, secret, pollMs: 20, signal: stop.signal, isConfirmed };
    const listening = runWebhookListen(options, door.api(), testIo({ format: "ndjson" }));
    await target.until(1);
    stop.abort();
    await listening;
    const head = asked[0]?.seq ?? 0;
    expect(asked).toEqual([0, 0, 1, 1].map((entries) => ({ seq: head + entries, told: 0 })));
    expect(target.received).toMatchObject([{ data: { question: "Is it there?" } }]);
    await target.close();
  });

  test("listen forwards what happens from then on, signed, in order", async () => {
    const secret = listenSecret("an audit secret of the tests");
    const target = await new TestReceiver(secret).open();
    const stop = new AbortController();
    const io = testIo({ format: "ndjson" });
    const options = {
      forwardTo: target.url,
      events: ["market.created", "market.suspended"] as const,
      secret,
      pollMs: 20,
      signal: stop.signal,
      isConfirmed: async () => true,
    };
    const listening = runWebhookListen(options, door.api(), io);
    const ids: string[] = [];
    while (target.received.length === 0) {
      // The listening begins when its first look is over; a market from before it is not told.
      const question = `Will it be heard, ${ids.length}?`;
      const { id } = await door.api().createMarket(anyMarket({ question, liquidityUsd: 1 }));
      ids.push(id);
      await door.api().suspendMarket({ id });
    }
    await target.until(2);
    stop.abort();
    await listening;
    expect(target.forgeries).toEqual([]);
    const sequences = target.received.map(({ data }) => Number(data.sequence));
    expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
    expect(target.received[0]).toMatchObject({ data: { question: expect.stringMatching(/^Will it be heard/) } });
    const [line] = io.stdout.text.trim().split("\n");
    expect(JSON.parse(line ?? "")).toEqual({
      id: target.received[0]?.id,
      type: target.received[0]?.type,
      status: 204,
    });
    await target.close();
  });
});
