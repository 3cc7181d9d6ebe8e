import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { answer, dieMidBody, hang, type TestReceiver } from "./support/receiver.ts";
import { receiverAt, Stage } from "./support/stage.ts";

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const SCHEDULE = [5 * SECOND, 30 * SECOND, 120 * SECOND, 600 * SECOND, HOUR, 6 * HOUR, 24 * HOUR];

let stage: Stage;
let receiver: TestReceiver;
beforeEach(async () => {
  stage = await Stage.open();
  receiver = await stage.receiver();
});
afterEach(() => stage.close());

describe("a receiver", () => {
  test("is told once of what happens, signed, with its place in the order, and of nothing from before it was known", async () => {
    await stage.tenant.deposit("usr_1", 1);
    const worker = stage.worker([receiverAt(receiver.url)]);
    await worker.tick();
    expect(receiver.received).toEqual([]);
    await stage.tenant.deposit("usr_1", 2);
    await stage.tenant.deposit("usr_1", 3);
    await worker.tick();
    await worker.tick();
    // They may overtake each other on their way; the sequence tells the order.
    const inOrder = receiver.received.toSorted((a, b) => Number(a.data.sequence) - Number(b.data.sequence));
    expect(inOrder.map(({ type, data }) => [type, data.amount])).toEqual([
      ["wallet.credited", 2],
      ["wallet.credited", 3],
    ]);
    expect(receiver.forgeries).toEqual([]);
    expect(receiver.headers[0]).toMatchObject({ "content-type": "application/json", "user-agent": "pmctl" });
    expect(stage.results).toEqual([
      ["crm", "delivered"],
      ["crm", "delivered"],
    ]);
  });

  test("is told of the events that it asked for, and of no others", async () => {
    const other = await stage.receiver();
    const worker = stage.worker([
      receiverAt(receiver.url, { events: ["market.created"] }),
      receiverAt(other.url, { name: "ledger", events: ["wallet.credited"] }),
    ]);
    await worker.tick();
    await stage.tenant.deposit("usr_1", 1);
    await stage.tenant.market({ question: "Will it snow?" });
    await worker.tick();
    expect(receiver.received.map(({ type, data }) => [type, data.question])).toEqual([
      ["market.created", "Will it snow?"],
    ]);
    expect(other.received.map(({ type }) => type)).toEqual(["wallet.credited"]);
  });

  test("keeps its place while it is not served, and while its file is changed", async () => {
    await stage.worker([receiverAt(receiver.url)]).tick();
    await stage.tenant.deposit("usr_1", 1);
    const moved = await stage.receiver();
    await stage.worker([receiverAt(moved.url, { events: ["wallet.credited"] })]).tick();
    expect(moved.received).toHaveLength(1);
  });

  test("may hold the old secret or the new one while they change", async () => {
    const old = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    const late = await stage.receiver(old);
    const secrets = ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", old];
    const both = [receiverAt(receiver.url, { secrets }), receiverAt(late.url, { name: "late", secrets })];
    const worker = stage.worker(both);
    await worker.tick();
    await stage.tenant.deposit("usr_1", 1);
    await worker.tick();
    expect([receiver.received.length, late.received.length]).toEqual([1, 1]);
    expect([...receiver.forgeries, ...late.forgeries]).toEqual([]);
  });
});

describe("what a receiver does not take", () => {
  test.each([
    ["an error", answer(500, {}, "out of\norder"), { last_status: 500, last_excerpt: "out of order" }],
    ["a redirect, which is not followed", answer(302, { location: "http://127.0.0.1:1/" }), { last_status: 302 }],
    ["silence", hang, { last_status: null, last_excerpt: "The request failed: no answer within 300 ms" }],
    ["an answer that breaks off", dieMidBody, { last_status: null }],
    ["a closed connection", (res: { destroy(): void }) => res.destroy(), { last_status: null }],
  ])(
    "because of %s is sent again, under the same id and with a fresh time, until it is taken",
    async (_, bad, kept) => {
      receiver.behave = bad;
      const worker = stage.worker([receiverAt(receiver.url)]);
      await worker.tick();
      await stage.tenant.deposit("usr_1", 1);
      // Only silence is waited out; what answers may take its time.
      await (bad === hang ? stage.worker([receiverAt(receiver.url)], { timeoutMs: 300 }) : worker).tick();
      expect(await stage.deliveries()).toMatchObject([
        { status: "pending", attempts: 1, next_attempt_at: stage.now + 5 * SECOND, ...kept },
      ]);
      stage.advance(5 * SECOND - 1);
      await worker.tick();
      expect(receiver.received).toHaveLength(1);
      receiver.behave = answer(200);
      stage.advance(1);
      await worker.tick();
      await worker.tick();
      expect(receiver.received).toHaveLength(2);
      expect(receiver.ids.size).toBe(1);
      const [first, second] = receiver.headers.map((headers) => Number(headers["webhook-timestamp"]));
      expect((second ?? 0) - (first ?? 0)).toBe(5);
      expect(await stage.deliveries()).toMatchObject([{ status: "delivered", attempts: 2, last_status: 200 }]);
      expect(receiver.forgeries).toEqual([]);
    },
  );

  test("is sent eight times over a day and more, and then kept as a dead letter", async () => {
    receiver.behave = answer(503);
    const worker = stage.worker([receiverAt(receiver.url)]);
    await worker.tick();
    await stage.tenant.deposit("usr_1", 1);
    await worker.tick();
    for (const [index, delayMs] of SCHEDULE.entries()) {
      expect(receiver.received).toHaveLength(index + 1);
      stage.advance(delayMs - 1);
      await worker.tick();
      expect(receiver.received).toHaveLength(index + 1);
      stage.advance(1);
      await worker.tick();
    }
    expect(receiver.received).toHaveLength(8);
    expect(await stage.deliveries()).toMatchObject([{ status: "dead", attempts: 8, last_status: 503 }]);
    expect(stage.results.map(([, result]) => result)).toEqual([...Array(7).fill("failed"), "dead"]);
    stage.advance(30 * HOUR);
    await worker.tick();
    expect(receiver.received).toHaveLength(8);
  });

  test("is sent later when the receiver asks for that", async () => {
    receiver.behave = answer(429, { "retry-after": "77" });
    const worker = stage.worker([receiverAt(receiver.url)]);
    await worker.tick();
    await stage.tenant.deposit("usr_1", 1);
    await worker.tick();
    expect(await stage.deliveries()).toMatchObject([{ next_attempt_at: stage.now + 77 * SECOND }]);
  });

  test("accepts a long answer and reads only its beginning", async () => {
    receiver.behave = answer(200, {}, "x".repeat(1_000_000));
    const worker = stage.worker([receiverAt(receiver.url)]);
    await worker.tick();
    await stage.tenant.deposit("usr_1", 1);
    await worker.tick();
    expect(await stage.deliveries()).toMatchObject([{ status: "delivered", last_excerpt: "x".repeat(200) }]);
  });

  test("does not leave for a private address unless the tenant file allows it", async () => {
    const worker = stage.worker([receiverAt(receiver.url)], { network: {} });
    await worker.tick();
    await stage.tenant.deposit("usr_1", 1);
    await worker.tick();
    expect(receiver.received).toEqual([]);
    expect(await stage.deliveries()).toMatchObject([{ status: "pending", last_excerpt: "The address is not allowed" }]);
  });
});

describe("410", () => {
  test("ends deliveries to the receiver until its configuration changes; nothing that happened meanwhile is lost", async () => {
    receiver.behave = answer(410);
    const worker = stage.worker([receiverAt(receiver.url)]);
    await worker.tick();
    await stage.tenant.deposit("usr_1", 1);
    await worker.tick();
    expect(await stage.deliveries()).toMatchObject([{ status: "dead", attempts: 1, last_status: 410 }]);
    receiver.behave = answer(200);
    await stage.tenant.deposit("usr_1", 2);
    stage.advance(30 * HOUR);
    await worker.tick();
    // A process that starts again with the same file changes nothing.
    await stage.worker([receiverAt(receiver.url)]).tick();
    expect(receiver.received).toHaveLength(1);
    await stage.worker([receiverAt(`${receiver.url}/new`)]).tick();
    expect(receiver.received.map(({ data }) => data.amount)).toEqual([1, 2]);
  });
});
