import { beforeEach, describe, expect, test } from "vitest";
import { Bench, buy, code } from "./bench.ts";

let bench: Bench;

beforeEach(async () => {
  bench = await Bench.open();
});

const DOLLAR = 1_000_000n;

describe("a commit whose answer is lost", () => {
  test("and that took effect is acknowledged once the fence has told so, and is there once", async () => {
    bench.journals[0].plan.push({ statement: "commit", fate: "answerLost" });
    expect(code(await bench.run(bench.submit(buy(DOLLAR))))).toBe("answered");
    expect(bench.entries("trade.executed")).toBe(1);
    expect(bench.journals[0].sent.get("fence")).toBe(1);
  });

  test("and that never arrived is executed again, and is there once", async () => {
    bench.journals[0].plan.push({ statement: "commit", fate: "neverSent" });
    expect(code(await bench.run(bench.submit(buy(DOLLAR))))).toBe("answered");
    expect(bench.entries("trade.executed")).toBe(1);
  });

  test("and that is still under way is shut out by the fence, executed again, and there once", async () => {
    bench.journals[0].plan.push({ statement: "commit", fate: "zombie" });
    expect(code(await bench.run(bench.submit(buy(DOLLAR))))).toBe("answered");
    await bench.run(bench.scheduler.sleep(20_000));
    expect(bench.entries("trade.executed")).toBe(1);
  });

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
    const first = bench.submit(buy(DOLLAR));
    await bench.run(bench.scheduler.sleep(3));
    journal.faults.outage = [0, bench.scheduler.now + 15_000];
    const second = bench.submit(buy(DOLLAR));
    const before = bench.scheduler.now;
    expect(code(await bench.run(first))).toBe("OUTCOME_UNKNOWN");
    expect(bench.scheduler.now - before).toBeLessThan(9000);
    expect(code(await bench.run(second))).toBe("OVERLOADED");
    expect(bench.entries("trade.executed")).toBe(1);
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

  test("before anything was sent it is DATABASE_UNAVAILABLE, and nothing is executed later", async () => {
    bench.journals[1].faults.outage = [0, bench.scheduler.now + 100];
    expect(code(await bench.run(bench.submit(buy(DOLLAR), 1)))).toBe("DATABASE_UNAVAILABLE");
    await bench.run(bench.scheduler.sleep(20_000));
    expect(bench.entries("trade.executed")).toBe(0);
    expect(code(await bench.run(bench.submit(buy(DOLLAR), 1)))).toBe("answered");
  });
});
