import { beforeEach, describe, expect, test } from "vitest";
import type { Command } from "../../../src/engine/commands.ts";
import { Bench, buy, code, depositOf } from "./bench.ts";
import { BEGINNING } from "./fake-database.ts";

let bench: Bench;

beforeEach(async () => {
  bench = await Bench.open();
});

const DOLLAR = 1_000_000n;
const SETTLE: Command = { type: "settleMarket", marketId: "m0", outcome: "yes" };

describe("the queue", () => {
  test("what arrives during a commit makes the next batch", async () => {
    const first = bench.submit(depositOf("a"));
    await bench.run(bench.scheduler.sleep(0.01));
    const rest = ["b", "c", "d"].map((reference) => bench.submit(depositOf(reference)));
    await bench.run(Promise.all([first, ...rest]));
    expect(bench.batches).toEqual([1, 3]);
    expect(bench.journals[0].sent.get("commit")).toBe(2);
  });

  test("what is submitted in one turn of the event loop makes one batch", async () => {
    await bench.run(Promise.all(["a", "b", "c"].map((reference) => bench.submit(depositOf(reference)))));
    expect(bench.batches).toEqual([3]);
  });

  test("a batch holds 1024 commands at the most", async () => {
    const commands = Array.from({ length: 1500 }, (_, index) => bench.submit(depositOf(`d${index}`)));
    await bench.run(Promise.all(commands));
    expect(bench.batches).toEqual([1024, 476]);
  });

  test("a settlement has a batch of its own, in its place in the order", async () => {
    const commands = [buy(DOLLAR), SETTLE, buy(DOLLAR), buy(DOLLAR, "m1")];
    const heard = await bench.run(Promise.all(commands.map((command) => bench.submit(command))));
    expect(heard.map(code)).toEqual(["answered", "answered", "MARKET_SETTLED", "answered"]);
    expect(bench.batches).toEqual([1, 1, 2]);
  });

  test("past 8192 waiting commands a caller is told to come back, with a Retry-After, and nothing is executed", async () => {
    const waiting = Array.from({ length: 8192 }, () => bench.submit({ type: "suspendMarket", marketId: "m0" }));
    expect(bench.sequencers[0].queueLength).toBe(8192);
    const heard = await bench.run(bench.submit(depositOf("one too many")));
    expect(heard).toMatchObject({ code: "OVERLOADED", fault: { retryAfterSec: 1, status: 429 } });
    expect((await bench.run(Promise.all(waiting))).every((each) => code(each) === "answered")).toBe(true);
    expect(bench.database.row("receipt", "payments\none too many")).toBeUndefined();
  });

  test("a command that waited two seconds is dropped before it executes; one that waited less is not", async () => {
    bench.journals[0].faults.slow = 1;
    const slow = ["slow", "behind it", "and a third"].map((reference) => bench.submit(depositOf(reference)));
    await bench.run(bench.scheduler.sleep(1));
    // Too few for a second batch under way.
    const late = bench.submit(depositOf("late"));
    await bench.run(Promise.all(slow));
    bench.journals[0].faults.slow = 0;
    expect(bench.scheduler.now).toBeGreaterThan(2001);
    expect(await bench.run(late)).toMatchObject({ code: "OVERLOADED", fault: { retryAfterSec: 1 } });
    expect(code(await bench.run(bench.submit(depositOf("prompt"))))).toBe("answered");
    expect(bench.entries("wallet.credited")).toBe(3 + 4);
  });

  test("a command is told so when it has waited two seconds, however long the commit before it still takes", async () => {
    const { promise: endless, resolve: end } = Promise.withResolvers<undefined>();
    bench.journals[0].onQuery = () => endless;
    const first = bench.submit(depositOf("stuck", 5n));
    await bench.run(bench.scheduler.sleep(100));
    const waiting = [bench.submit(depositOf("a")), bench.submit(depositOf("b"))];
    await bench.run(bench.scheduler.sleep(1000));
    const younger = bench.submit(depositOf("c"));
    const start = bench.scheduler.now;
    expect((await bench.run(Promise.all(waiting))).map(code)).toEqual(["OVERLOADED", "OVERLOADED"]);
    expect(bench.scheduler.now - start).toBeCloseTo(1000, 0);
    expect(await waiting[0]).toMatchObject({
      fault: { message: "The database has not confirmed the previous change; nothing was executed" },
    });
    end(undefined);
    expect((await bench.run(Promise.all([first, younger]))).map(code)).toEqual(["answered", "answered"]);
    expect(bench.database.row("receipt", "payments\na")).toBeUndefined();
  });

  test("closing answers what is queued and refuses what comes after", async () => {
    const queued = bench.submit(depositOf("queued"));
    const closing = bench.sequencers[0].close();
    expect(code(await bench.submit(depositOf("after")))).toBe("DATABASE_UNAVAILABLE");
    await bench.run(closing);
    expect(code(await queued)).toBe("answered");
  });

  /** A caller that gets its answer may submit again at once, in any later callback of the same turn. */
  test.each(Array.from({ length: 12 }, (_, hops) => hops))(
    "a command submitted %d callbacks after an answer is not forgotten",
    async (hops) => {
      const again = async () => {
        await bench.sequencers[0].submit({ command: depositOf("first"), actor: "test" });
        for (let hop = 0; hop < hops; hop++) await null;
        return bench.sequencers[0].submit({ command: depositOf("second"), actor: "test" });
      };
      await expect(bench.run(again())).resolves.toBeDefined();
    },
  );
});

describe("the time gate", () => {
  test("after ten seconds without an answer of the database its clock is read again before anything is decided", async () => {
    await bench.run(bench.submit({ type: "suspendMarket", marketId: "m0" }));
    await bench.run(bench.scheduler.sleep(10_001));
    bench.database.stepClock(10 * 86_400_000);
    expect(code(await bench.run(bench.submit({ type: "resumeMarket", marketId: "m0" })))).toBe("MARKET_CLOSED");
    expect(bench.journals[0].sent.get("begin")).toBeUndefined();
  });

  const millisecondsAway = (ms: number) => bench.scheduler.sleep(BEGINNING + 5000 - ms - bench.database.clock());

  test("a trade that was decided before closeAt and would commit after it is refused as closed", async () => {
    await bench.run(bench.submit(buy(DOLLAR, "m2")));
    await bench.run(millisecondsAway(1));
    bench.journals[0].faults.slow = 1;
    expect(code(await bench.run(bench.submit(buy(DOLLAR, "m2"))))).toBe("MARKET_CLOSED");
    expect(bench.journals[0].sent.get("commit")).toBe(2);
    expect(bench.entries("trade.executed")).toBe(1);
  });

  test("a trade that is refused as closed fails alone: the rest of its batch goes through", async () => {
    await bench.run(Promise.all([bench.submit(buy(DOLLAR, "m2")), bench.submit(buy(DOLLAR, "m0"))]));
    await bench.run(millisecondsAway(1));
    bench.journals[0].faults.slow = 1;
    const commands = [buy(DOLLAR, "m2"), buy(DOLLAR, "m0"), depositOf("d")];
    const heard = await bench.run(Promise.all(commands.map((command) => bench.submit(command))));
    expect(heard.map(code)).toEqual(["MARKET_CLOSED", "answered", "answered"]);
  });

  test("the database's clock decides, not the process's: a fast process takes trades until the database says stop", async () => {
    await bench.run(millisecondsAway(50));
    expect(code(await bench.run(bench.submit(buy(DOLLAR, "m2"))))).toBe("answered");
    bench.database.stepClock(100);
    expect(code(await bench.run(bench.submit(buy(DOLLAR, "m2"))))).toBe("MARKET_CLOSED");
  });

  test("a database clock that was wrong and is set back closes no market too early, and time in the journal does not step back", async () => {
    bench.database.stepClock(3_600_000);
    await bench.run(bench.submit(depositOf("an hour early")));
    expect(code(await bench.run(bench.submit(buy(DOLLAR, "m2"))))).toBe("MARKET_CLOSED");
    bench.database.stepClock(-3_600_000);
    await bench.run(bench.submit(depositOf("in time")));
    expect(code(await bench.run(bench.submit(buy(DOLLAR, "m2"))))).toBe("answered");
    const times = bench.database.audit.map(({ ts }) => ts);
    expect(times).toEqual([...times].sort());
  });
});
