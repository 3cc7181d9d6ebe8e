import { beforeEach, describe, expect, test } from "vitest";
import type { Command } from "../../../src/engine/commands.ts";
import { Bench, buy, code, depositOf } from "./bench.ts";
import type { FakeJournal, Statement } from "./fake-journal.ts";

let bench: Bench;

beforeEach(async () => {
  bench = await Bench.open();
});

const DOLLAR = 1_000_000n;
const sent = (process: 0 | 1) => Object.fromEntries(bench.journals[process].sent);
const TENANT_POISON: Command = {
  type: "createMarket",
  id: "bad",
  question: "poison\0",
  category: "c",
  kind: "cpmm",
  p0Ppm: 500_000,
  closeAt: 2_000_000_000_000,
  resolutionRef: "manual",
  meta: "{}",
  liquidityMicro: DOLLAR,
};

function refuseAll(journal: FakeJournal, statement: Statement): void {
  for (let times = 0; times < 400; times++) journal.plan.push({ statement, fate: "failed" });
}

describe("two processes on one tenant", () => {
  test("a process alone on its tenant commits in one statement and never locks the head", async () => {
    for (const reference of ["a", "b", "c"]) await bench.run(bench.submit(depositOf(reference)));
    expect(sent(0)).toEqual({ load: 3, commit: 3 });
  });

  test("a process that loses a swap takes turns, and none once the other process has been quiet for a while", async () => {
    await bench.run(bench.submit(depositOf("theirs"), 1));
    bench.journals[0].sent.clear();
    await bench.run(bench.submit(depositOf("a")));
    expect(sent(0)).toMatchObject({ commit: 2, turn: 1 });
    await bench.run(bench.scheduler.sleep(5));
    await bench.run(bench.submit(depositOf("b")));
    expect(sent(0)).toMatchObject({ commit: 3, turn: 2 });
    await bench.run(bench.scheduler.sleep(1100));
    // The last one: it shows that the other process has not written since.
    await bench.run(bench.submit(depositOf("c")));
    expect(sent(0)).toMatchObject({ commit: 4, turn: 3 });
    await bench.run(bench.submit(depositOf("d")));
    expect(sent(0)).toMatchObject({ commit: 5, turn: 3 });
    expect(sent(0)).not.toHaveProperty("lock");
  });

  test("a process without commands keeps its turn for those that follow an answer, and gives it up soon after", async () => {
    await bench.run(bench.submit(depositOf("theirs"), 1));
    await bench.run(bench.submit(depositOf("a")));
    await bench.run(bench.scheduler.sleep(1));
    await bench.run(bench.submit(depositOf("b")));
    expect(sent(0)).toMatchObject({ commit: 3, turn: 1 });
    let given = Number.POSITIVE_INFINITY;
    bench.journals[1].onTurn = () => {
      given = bench.scheduler.now;
    };
    const before = bench.scheduler.now;
    // Its swap is lost first.
    await bench.run(bench.submit(depositOf("c"), 1));
    expect(given - before).toBeLessThan(20);
    await bench.run(bench.submit(depositOf("d")));
    expect(sent(0)).toMatchObject({ turn: 2 });
  });

  test("a process that shuts down gives its turn up at once", async () => {
    await bench.run(bench.submit(depositOf("theirs"), 1));
    await bench.run(bench.submit(depositOf("a")));
    const [first, second] = bench.journals;
    await bench.run(bench.sequencers[0].close());
    const before = bench.scheduler.now;
    const { end } = await bench.run(second.takeTurn(null));
    end();
    expect(first.sent.get("turn")).toBe(1);
    // Three ways of a statement, and no waiting.
    expect(bench.scheduler.now - before).toBeLessThan(9);
  });

  test("no swap is lost while two busy processes take turns, and neither waits long for one", async () => {
    await bench.run(bench.submit(depositOf("theirs"), 1));
    await bench.run(bench.submit(depositOf("a")));
    for (const { sent } of bench.journals) sent.clear();
    let longest = 0;
    const stream = async (process: 0 | 1, client: number) => {
      for (let index = 0; index < 40; index++) {
        const askedAt = bench.scheduler.now;
        expect(code(await bench.submit(depositOf(`${process}-${client}-${index}`), process))).toBe("answered");
        longest = Math.max(longest, bench.scheduler.now - askedAt);
      }
    };
    await bench.run(Promise.all(Array.from({ length: 16 }, (_, each) => stream(each % 2 === 0 ? 0 : 1, each))));
    const commits = bench.journals.map((journal) => journal.sent.get("commit") ?? 0);
    expect(commits.reduce((sum, each) => sum + each)).toBeLessThanOrEqual(bench.batches.length + 2);
    const turns = bench.journals.map((journal) => journal.sent.get("turn") ?? 0);
    expect(turns.reduce((sum, each) => sum + each) * 2).toBeLessThan(bench.batches.length);
    // A turn of the other's, and one's own batches, each up to 12 ms in this world.
    expect(longest).toBeLessThan(80);
  });

  test("a process that dies with the turn delays the other by the lock's timeout at the most", async () => {
    // Both have lost a swap, so both take turns.
    for (const [index, process] of ([1, 0, 1] as const).entries())
      await bench.run(bench.submit(depositOf(`first-${index}`), process));
    const taken = Promise.withResolvers<void>();
    bench.journals[0].onTurn = taken.resolve;
    void bench.submit(depositOf("a"));
    await bench.run(taken.promise);
    bench.journals[0].crash();
    bench.journals[1].sent.clear();
    const before = bench.scheduler.now;
    expect(code(await bench.run(bench.submit(depositOf("b"), 1)))).toBe("answered");
    expect(bench.journals[1].sent.get("turn")).toBe(1);
    expect(bench.scheduler.now - before).toBeLessThan(1600);
  });

  test.each([1, 2])(
    "what trades of another process changed is read again, and decides the next command (%d)",
    async (times) => {
      await bench.run(bench.submit({ type: "updatePolicy", patch: { maxUserExposureUsd: 200 } }));
      await bench.run(bench.submit(buy(DOLLAR)));
      bench.journals[0].sent.clear();
      for (let time = 0; time < times; time++) await bench.run(bench.submit(buy(90n * DOLLAR), 1));
      // 1 and 90 or 180 of 200 are taken.
      expect(code(await bench.run(bench.submit(buy(100n * DOLLAR))))).toBe(
        times === 1 ? "answered" : "EXPOSURE_EXCEEDED",
      );
      expect(bench.entries("trade.executed")).toBe(3);
    },
  );

  test("equal credits of one instant both take effect, although the answer to one of them is lost", async () => {
    // While the clock is behind the log, all entries carry the time of the last one.
    bench.database.stepClock(-60_000);
    const nothing: Command = { type: "resumeMarket", marketId: "nowhere" };
    for (const process of [0, 1] as const)
      expect(code(await bench.run(bench.submit(nothing, process)))).toBe("MARKET_NOT_FOUND");
    const [journal] = bench.journals;
    journal.faults.slow = 1;
    journal.plan.push({ statement: "commit", fate: "answerLost" });
    const before = bench.balance("wallet:u0");
    const credit = (id: string): Command => ({ type: "creditWallet", id, traderId: "u0", amountMicro: DOLLAR });
    const heard = await bench.run(Promise.all([bench.submit(credit("c0"), 0), bench.submit(credit("c1"), 1)]));
    expect(heard.map(code)).toEqual(["answered", "answered"]);
    expect(bench.balance("wallet:u0") - before).toBe(2n * DOLLAR);
  });

  test("a refusal that rests on what this process remembers is given only after the head was read", async () => {
    expect(code(await bench.run(bench.submit(buy(150n * DOLLAR))))).toBe("answered");
    bench.journals[0].sent.clear();
    expect(code(await bench.run(bench.submit(buy(150n * DOLLAR))))).toBe("EXPOSURE_EXCEEDED");
    expect(sent(0)).toEqual({ readHead: 1 });
  });

  test("a refused command whose head has moved is decided again: a cap that another process raised counts", async () => {
    await bench.run(bench.submit(buy(200n * DOLLAR)));
    expect(code(await bench.run(bench.submit(buy(30n * DOLLAR))))).toBe("answered");
    expect(code(await bench.run(bench.submit(buy(30n * DOLLAR))))).toBe("EXPOSURE_EXCEEDED");
    await bench.run(bench.submit({ type: "updatePolicy", patch: { maxUserExposureUsd: 500 } }, 1));
    await bench.run(bench.submit(depositOf("top up", 100n * DOLLAR), 1));
    expect(code(await bench.run(bench.submit(buy(30n * DOLLAR))))).toBe("answered");
  });

  test("a command that changes nothing is confirmed too: a market that another process resumed is suspended again", async () => {
    const suspend: Command = { type: "suspendMarket", marketId: "m0" };
    await bench.run(bench.submit(suspend));
    await bench.run(bench.submit({ type: "resumeMarket", marketId: "m0" }, 1));
    await bench.run(bench.submit(suspend));
    expect(bench.database.row("marketState", "m0")?.status).toBe("suspended");
    expect(bench.entries("market.suspended")).toBe(2);
  });

  test("a refusal under a lock that was lost unnoticed is not given on rows of two different moments", async () => {
    const theirs = (command: Command) => bench.run(bench.submit(command, 1));
    await theirs(depositOf("rich", 900n * DOLLAR));
    const [journal] = bench.journals;
    journal.onSend = (statement) => {
      if (statement !== "lock") return;
      // The slow path. The connection dies between begin and the lock, so the rows are read without one ...
      journal.onSend = undefined;
      journal.loseIdleConnection();
      journal.onQuery = async (table) => {
        if (table !== "portfolio") return;
        // ... and between the tenant's row and the positions, the cap is raised and a trade made under it.
        journal.onQuery = undefined;
        await bench.scheduler.sleep(50);
        await bench.submit({ type: "updatePolicy", patch: { maxUserExposureUsd: 500 } }, 1);
        await bench.submit(buy(140n * DOLLAR), 1);
      };
    };
    // 150 on top of nothing under the cap of 230, or on top of 140 under the cap of 500: never too much.
    expect(code(await bench.run(bench.submit(buy(150n * DOLLAR))))).toBe("answered");
  });
});

describe("a command that the database refuses", () => {
  test("fails alone: the batch is halved until it is found, and all others go through in order", async () => {
    const commands = Array.from({ length: 9 }, (_, index) => (index === 5 ? TENANT_POISON : depositOf(`d${index}`)));
    const heard = await bench.run(Promise.all(commands.map((command) => bench.submit(command))));
    expect(heard.map(code)).toEqual(commands.map((command) => (command === TENANT_POISON ? "INTERNAL" : "answered")));
    expect(bench.errors).toHaveLength(1);
    const references = bench.database.audit.slice(-8).map(({ payloadText }) => JSON.parse(payloadText).txRef);
    expect(references).toEqual(["d0", "d1", "d2", "d3", "d4", "d6", "d7", "d8"]);
  });

  test("rows that another process changed cost one attempt, and the command succeeds", async () => {
    await bench.run(bench.submit(buy(DOLLAR)));
    const wallet = bench.database.row("account", "wallet:u0");
    if (wallet) bench.database.rows.set("account/wallet:u0", { ...wallet, version: wallet.version + 3 });
    expect(code(await bench.run(bench.submit(buy(DOLLAR))))).toBe("answered");
    expect(bench.errors).toEqual([]);
  });

  test.each(["commit", "load", "begin"] as const)(
    "is not looked for when the database refuses for reasons of its own: a %s is tried twice, then all are told",
    async (statement) => {
      const [journal] = bench.journals;
      // The slow path begins after another process has written, where there is no turn to be had.
      if (statement === "begin") {
        await bench.run(bench.submit(depositOf("theirs"), 1));
        refuseAll(journal, "turn");
      }
      refuseAll(journal, statement);
      const commands = Array.from({ length: 100 }, (_, index) => bench.submit(depositOf(`d${index}`)));
      const heard = await bench.run(Promise.all(commands));
      expect(new Set(heard.map(code))).toEqual(new Set(["DATABASE_UNAVAILABLE"]));
      expect([...journal.sent.values()].reduce((sum, times) => sum + times, 0)).toBeLessThan(12);
      journal.plan.length = 0;
      expect(code(await bench.run(bench.submit(depositOf("later"))))).toBe("answered");
    },
  );

  test("after a turn request failed, the head is locked without a turn and no second request follows at once", async () => {
    const [journal] = bench.journals;
    await bench.run(bench.submit(depositOf("theirs"), 1));
    refuseAll(journal, "turn");
    for (const reference of ["first", "second", "third"])
      expect(code(await bench.run(bench.submit(depositOf(reference))))).toBe("answered");
    expect(journal.sent.get("turn")).toBe(1);
  });

  test("two thousand good commands around three bad ones all go through", async () => {
    const bad = [100, 1023, 1700];
    const commands = Array.from({ length: 2000 }, (_, index) =>
      bad.includes(index) ? { ...TENANT_POISON, id: `bad${index}` } : depositOf(`d${index}`),
    );
    const heard = await bench.run(Promise.all(commands.map((command) => bench.submit(command))));
    expect(heard.flatMap((each, index) => (code(each) === "answered" ? [] : [index]))).toEqual(bad);
  });
});
