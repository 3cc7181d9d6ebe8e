import { beforeEach, describe, expect, test } from "vitest";
import { Bench, buy, code } from "./bench.ts";

let bench: Bench;

beforeEach(async () => {
  bench = await Bench.open();
});

const DOLLAR = 1_000_000n;

// What a lost, late or missing commit leaves by itself is in `pair.test.ts`.
describe("a commit whose answer is lost", () => {
  test.each(["fence", "contains"] as const)(
    "is not executed again when the %s fails for reasons of its own",
    async (statement) => {
      bench.journals[0].plan.push({ statement: "commit", fate: "answerLost" }, { statement, fate: "failed" });
      expect(code(await bench.run(bench.submit(buy(DOLLAR))))).toBe("answered");
      expect(bench.entries("trade.executed")).toBe(1);
    },
  );

  test.each(["neverSent", "answerLost", "zombie", "failed"] as const)(
    "stays one trade when the fence is %s and the read after it fails too",
    async (fate) => {
      bench.journals[0].plan.push(
        { statement: "commit", fate: "answerLost" },
        { statement: "fence", fate },
        { statement: "contains", fate: "neverSent" },
        { statement: "contains", fate: "failed" },
      );
      expect(code(await bench.run(bench.submit(buy(DOLLAR))))).toBe("answered");
      expect(bench.entries("trade.executed")).toBe(1);
    },
  );
});

describe("a database that stays away", () => {
  test("leaves the batch under way OUTCOME_UNKNOWN after eight seconds, and the ones behind it unexecuted", async () => {
    const [journal] = bench.journals;
    journal.plan.push({ statement: "commit", fate: "answerLost" });
    const [first] = [bench.submit(buy(DOLLAR)), bench.submit(buy(DOLLAR))];
    await bench.run(bench.scheduler.sleep(3));
    journal.faults.outage = [0, bench.scheduler.now + 15_000];
    // Too few for a second batch under way.
    const second = bench.submit(buy(DOLLAR));
    const before = bench.scheduler.now;
    expect(code(await bench.run(first))).toBe("OUTCOME_UNKNOWN");
    expect(bench.scheduler.now - before).toBeLessThan(9000);
    expect(code(await bench.run(second))).toBe("OVERLOADED");
    expect(bench.entries("trade.executed")).toBe(2);
    expect(bench.errors).toHaveLength(1);
  });

  test("a retry with the same Idempotency-Key tells the outcome, on either process", async () => {
    const [journal] = bench.journals;
    const idempotency = { caller: "u0", key: "k", requestHash: "h", render: () => ({ status: 200, body: "first" }) };
    journal.plan.push({ statement: "commit", fate: "answerLost" });
    const first = bench.submit(buy(DOLLAR), 0, idempotency);
    await bench.run(bench.scheduler.sleep(3));
    journal.faults.outage = [0, bench.scheduler.now + 9000];
    expect(code(await bench.run(first))).toBe("OUTCOME_UNKNOWN");
    for (const process of [1, 0] as const) {
      await bench.run(bench.scheduler.sleep(2000));
      const retry = await bench.run(bench.submit(buy(DOLLAR), process, idempotency));
      expect(retry).toMatchObject({ answer: { replayed: { body: "first" } } });
    }
    expect(bench.entries("trade.executed")).toBe(1);
  });

  test("answers DATABASE_UNAVAILABLE before anything was sent, and nothing is executed later", async () => {
    bench.journals[1].faults.outage = [0, bench.scheduler.now + 100];
    expect(code(await bench.run(bench.submit(buy(DOLLAR), 1)))).toBe("DATABASE_UNAVAILABLE");
    await bench.run(bench.scheduler.sleep(20_000));
    expect(bench.entries("trade.executed")).toBe(0);
    expect(code(await bench.run(bench.submit(buy(DOLLAR), 1)))).toBe("answered");
  });
});

describe("a commit that the database warns about", () => {
  const idempotency = { caller: "u0", key: "k", requestHash: "h", render: () => ({ status: 200, body: "first" }) };

  test.each(["warned", "misshapen"] as const)(
    "that is %s is read back after the fence, and is there once",
    async (fate) => {
      bench.journals[0].plan.push({ statement: "commit", fate });
      expect(code(await bench.run(bench.submit(buy(DOLLAR))))).toBe("answered");
      expect(bench.journals[0].sent.get("fence")).toBe(1);
      expect(bench.database.failOver()).toBe(false);
      expect(bench.entries("trade.executed")).toBe(1);
    },
  );

  test("while the standby stays away is OUTCOME_UNKNOWN, and so is its replay on another process, which only reads it", async () => {
    for (const { faults } of bench.journals) faults.standbyAway = [0, bench.scheduler.now + 30_000];
    expect(code(await bench.run(bench.submit(buy(DOLLAR), 0, idempotency)))).toBe("OUTCOME_UNKNOWN");
    expect(code(await bench.run(bench.submit(buy(DOLLAR), 1, idempotency)))).toBe("OUTCOME_UNKNOWN");
    expect(bench.entries("trade.executed")).toBe(1);
    expect(bench.database.failOver()).toBe(true);
    expect(bench.entries("trade.executed")).toBe(0);
  });

  test("is replayed on either process once the standby is back, and outlives the primary", async () => {
    for (const { faults } of bench.journals) faults.standbyAway = [0, bench.scheduler.now + 10_000];
    expect(code(await bench.run(bench.submit(buy(DOLLAR), 0, idempotency)))).toBe("OUTCOME_UNKNOWN");
    await bench.run(bench.scheduler.sleep(10_000));
    for (const process of [1, 0] as const) {
      const retry = await bench.run(bench.submit(buy(DOLLAR), process, idempotency));
      expect(retry).toMatchObject({ answer: { replayed: { body: "first" } } });
    }
    expect(bench.database.failOver()).toBe(false);
    expect(bench.entries("trade.executed")).toBe(1);
  });

  test("leaves a commit unconfirmed within a transaction too, while a second process is at work", async () => {
    await bench.run(bench.submit(buy(DOLLAR), 1));
    await bench.run(bench.submit(buy(DOLLAR), 0));
    bench.journals[1].plan.push({ statement: "turn", fate: "failed" }, { statement: "end", fate: "warned" });
    expect(code(await bench.run(bench.submit(buy(DOLLAR), 1)))).toBe("answered");
    expect(bench.journals[1].sent.get("fence")).toBe(1);
    expect(bench.database.failOver()).toBe(false);
    expect(bench.entries("trade.executed")).toBe(3);
  });

  test("does not hold up a refusal, which is confirmed by a read because it promises nothing", async () => {
    for (const { faults } of bench.journals) faults.standbyAway = [0, bench.scheduler.now + 30_000];
    expect(code(await bench.run(bench.submit(buy(10_000n * DOLLAR))))).toBe("MAX_TRADE_EXCEEDED");
  });
});

describe("a conflict with another statement", () => {
  test("is repeated after a pause, since nothing was written, and takes effect once", async () => {
    for (let time = 0; time < 5; time++) bench.journals[0].plan.push({ statement: "commit", fate: "conflict" });
    const before = bench.scheduler.now;
    expect(code(await bench.run(bench.submit(buy(DOLLAR))))).toBe("answered");
    expect(bench.scheduler.now).toBeGreaterThan(before);
    expect(bench.entries("trade.executed")).toBe(1);
  });

  test.each(["conflict", "neverSent"] as const)(
    "that does not end is OVERLOADED, and not executed: %s",
    async (fate) => {
      for (let time = 0; time < 8; time++) bench.journals[0].plan.push({ statement: "commit", fate });
      expect(await bench.run(bench.submit(buy(DOLLAR)))).toMatchObject({
        fault: { code: "OVERLOADED", message: "The database accepted none of several attempts; nothing was executed" },
      });
      expect(bench.entries("trade.executed")).toBe(0);
    },
  );
});
