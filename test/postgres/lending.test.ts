import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { ConnectionLender, type Loan } from "../../src/postgres/lending.ts";
import { ownTime } from "../support/own-time.ts";

/** A client that keeps a list of what happens to its connections. */
function client(lender: ConnectionLender, { size = 1, isUrgent = (): boolean => false } = {}) {
  const closed: number[] = [];
  const loan = lender.forTenant(isUrgent).loan(size, async () => void closed.push(closed.length));
  return { loan, closed };
}

/** A statement that ends when it is told to. */
function statement(loan: Loan) {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isRunning = false;
  const done = loan.use(() => {
    isRunning = true;
    return promise;
  });
  return { done, end: resolve, isRunning: () => isRunning };
}

/** Lets what waits for nothing but a turn go on. */
const turn = () => new Promise(setImmediate);

test("what is quiet gives its connections to who needs them, the longest quiet first", async () => {
  const lender = new ConnectionLender(2);
  const [first, second, third] = [client(lender), client(lender), client(lender)];
  for (const { loan } of [first, second, first]) await loan.use(async () => delay(2));
  await third.loan.use(async () => {});
  expect([first.closed.length, second.closed.length]).toEqual([0, 1]);
  expect(lender.taken).toBe(2);
});

test("a statement keeps its connection, and one that finds none in two seconds is refused with 503", async () => {
  const lender = new ConnectionLender(1);
  const [busy, other] = [client(lender), client(lender)];
  const running = statement(busy.loan);
  await turn();
  const elapsed = ownTime();
  await expect(other.loan.use(async () => {})).rejects.toMatchObject({ code: "OVERLOADED", status: 503 });
  expect(elapsed()).toBeLessThan(5000);
  expect(busy.closed).toEqual([]);
  expect(lender.waiting).toEqual({ clients: 0, longestMs: 0 });
  running.end();
  await running.done;
});

test("a client whose statements never leave a gap finishes them while another one waits, and goes on after it", async () => {
  const lender = new ConnectionLender(1);
  const [busy, other] = [client(lender), client(lender)];
  let isOver = false;
  const chain = async () => {
    while (!isOver) await busy.loan.use(() => delay(5));
  };
  const chains = [chain(), chain(), chain()];
  for (let times = 0; times < 3; times += 1) await other.loan.use(async () => {});
  isOver = true;
  await Promise.all(chains);
  expect(busy.closed.length).toBeGreaterThan(0);
});

test("pinned connections are not taken between two statements, and their statements do not wait", async () => {
  const lender = new ConnectionLender(1);
  const [writer, other] = [client(lender), client(lender)];
  const unpin = await writer.loan.pin();
  const waiting = statement(other.loan);
  await delay(120);
  await writer.loan.use(async () => {});
  expect(waiting.isRunning()).toBe(false);
  expect(writer.closed).toEqual([]);
  unpin();
  waiting.end();
  await waiting.done;
  expect(writer.closed).toHaveLength(1);
});

test("urgent clients have a reserve that others do not get", async () => {
  const lender = new ConnectionLender(3, 1);
  const held = await Promise.all([client(lender), client(lender)].map(({ loan }) => loan.pin()));
  const [usual, urgent] = [client(lender), client(lender, { isUrgent: () => true })];
  const refused = expect(usual.loan.use(async () => {})).rejects.toMatchObject({ code: "OVERLOADED" });
  await urgent.loan.use(async () => {});
  await refused;
  for (const unpin of held) unpin();
  await usual.loan.use(async () => {});
});

test("a client that closes for good gives back what it has, and what waits in it is refused at once", async () => {
  const lender = new ConnectionLender(1);
  const [busy, other] = [client(lender), client(lender)];
  const unpin = await busy.loan.pin();
  const waiting = expect(other.loan.use(async () => {})).rejects.toMatchObject({ code: "DATABASE_UNAVAILABLE" });
  other.loan.release();
  await waiting;
  unpin();
  busy.loan.release();
  expect(lender.taken).toBe(0);
});
