import { beforeEach, describe, expect, test } from "vitest";
import type { Command } from "../../../src/engine/commands.ts";
import type { TradeResult } from "../../../src/engine/trade.ts";
import { Bench, buy, code, depositOf, type Heard, type Keyed } from "./bench.ts";

let bench: Bench;

beforeEach(async () => {
  bench = await Bench.open();
});

const DOLLAR = 1_000_000n;

function keyed(change: Partial<Keyed> = {}): Keyed {
  const render = (result: unknown) => ({ status: 200, body: (result as TradeResult | undefined)?.tradeId ?? "none" });
  return { caller: "u0", key: "k", requestHash: "h", render, ...change };
}

function body(heard: Heard): string {
  if (!("answer" in heard)) return heard.code;
  const { replayed, result } = heard.answer;
  return replayed ? replayed.body : ((result as TradeResult).tradeId ?? "none");
}

describe("an Idempotency-Key", () => {
  test("of another caller is another key", async () => {
    await bench.run(bench.submit(buy(DOLLAR), 0, keyed()));
    const other = await bench.run(bench.submit(buy(DOLLAR), 0, keyed({ caller: "u1", requestHash: "other" })));
    expect(code(other)).toBe("answered");
    expect(bench.entries("trade.executed")).toBe(2);
  });

  test("whose request was refused is decided again: what was refused for its moment may pass later", async () => {
    const suspend: Command = { type: "suspendMarket", marketId: "m0" };
    await bench.run(bench.submit(suspend));
    expect(code(await bench.run(bench.submit(buy(DOLLAR), 0, keyed())))).toBe("MARKET_SUSPENDED");
    await bench.run(bench.submit({ type: "resumeMarket", marketId: "m0" }));
    expect(code(await bench.run(bench.submit(buy(DOLLAR), 0, keyed())))).toBe("answered");
    expect(bench.entries("trade.executed")).toBe(1);
  });

  describe("of a request that changes nothing", () => {
    const suspend: Command = { type: "suspendMarket", marketId: "m0" };
    const resume: Command = { type: "resumeMarket", marketId: "m0" };
    const shown = keyed({ render: (result) => ({ status: 200, body: JSON.stringify(result) }) });

    test("keeps its first answer too: sent again it does not take effect later", async () => {
      await bench.run(bench.submit(suspend));
      expect(await bench.run(bench.submit(suspend, 0, shown))).toMatchObject({ answer: { result: { id: "m0" } } });
      await bench.run(bench.submit(resume));
      for (const process of [0, 1] as const)
        expect(await bench.run(bench.submit(suspend, process, shown))).toHaveProperty("answer.replayed.body");
      expect([bench.entries("market.suspended"), bench.database.row("marketState", "m0")?.status]).toEqual([1, "open"]);
    });

    test("is known to the other process, although the audit log has no new entry", async () => {
      await bench.run(bench.submit(suspend));
      // The other process remembers that the key is unknown.
      expect(code(await bench.run(bench.submit(buy(DOLLAR), 1, shown)))).toBe("MARKET_SUSPENDED");
      await bench.run(bench.submit(suspend, 0, shown));
      const other = bench.submit(depositOf("d"), 1, { ...shown, requestHash: "other" });
      expect(code(await bench.run(other))).toBe("IDEMPOTENCY_MISMATCH");
    });

    test.each(["answerLost", "neverSent", "zombie"] as const)("is answered when its commit is %s", async (fate) => {
      await bench.run(bench.submit(suspend));
      bench.journals[0].plan.push({ statement: "commit", fate });
      expect(code(await bench.run(bench.submit(suspend, 0, shown)))).toBe("answered");
      expect(bench.database.row("storedAnswer", "u0\nk")?.body).toBe('{"id":"m0","status":"suspended"}');
      expect(bench.entries("market.suspended")).toBe(1);
    });
  });

  test("is remembered for 24 hours, and after them a new request", async () => {
    await bench.run(bench.submit(buy(DOLLAR), 0, keyed()));
    await bench.run(bench.scheduler.sleep(24 * 3_600_000 - 60_000));
    expect(await bench.run(bench.submit(buy(DOLLAR), 1, keyed()))).toHaveProperty("answer.replayed.body");
    await bench.run(bench.scheduler.sleep(120_000));
    expect(code(await bench.run(bench.submit(depositOf("d"), 1, keyed({ requestHash: "new" }))))).toBe("answered");
    expect(bench.database.row("storedAnswer", "u0\nk")?.requestHash).toBe("new");
  });

  test("answers the first request with what it renders, and repeats with what is kept instead of a secret", async () => {
    const render = () => ({ status: 200, body: "the secret", repeatBody: "no secret" });
    const first = await bench.run(bench.submit(buy(DOLLAR), 0, keyed({ render })));
    expect(first).toMatchObject({ answer: { rendered: { body: "the secret" } } });
    expect(body(await bench.run(bench.submit(buy(DOLLAR), 1, keyed({ render }))))).toBe("no secret");
    expect(JSON.stringify(bench.database.row("storedAnswer", "u0\nk"))).not.toContain("the secret");
  });
});

describe("an answer is made before the commit", () => {
  test.each(["with", "without"])("%s a key: a command whose answer cannot be made takes no effect", async (how) => {
    const render = () => {
      throw new Error("there is no answer");
    };
    const command = buy(DOLLAR);
    const heard =
      how === "with"
        ? bench.submit(command, 0, keyed({ render }))
        : bench.sequencers[0].submit({ command, actor: "test", render }).then(
            (answer): Heard => ({ answer }),
            (fault) => ({ code: String(fault), fault }),
          );
    const neighbour = bench.submit(buy(2n * DOLLAR));
    expect(code(await bench.run(heard))).toContain("there is no answer");
    expect(code(await bench.run(neighbour))).toBe("answered");
    expect(bench.entries("trade.executed")).toBe(1);
    expect(bench.balance("wallet:u0")).toBe(248n * DOLLAR);
  });

  test("an answer is made again when another process committed first: it belongs to the execution that was committed", async () => {
    const rendered: string[] = [];
    const render = (result: unknown) => {
      rendered.push(String((result as TradeResult).sharesMicro));
      return { status: 200, body: String((result as TradeResult).sharesMicro) };
    };
    // Both processes know the market; then the second one trades, and the first learns of it by its lost swap.
    for (const process of [0, 1] as const) await bench.run(bench.submit(buy(DOLLAR), process));
    await bench.run(bench.submit(buy(20n * DOLLAR), 1));
    const heard = await bench.run(bench.sequencers[0].submit({ command: buy(DOLLAR), actor: "test", render }));
    expect(heard.rendered?.body).toBe(String((heard.result as TradeResult).sharesMicro));
    expect(rendered.at(-1)).toBe(heard.rendered?.body);
  });
});

describe("what a process remembers", () => {
  const settle: Command = { type: "settleMarket", marketId: "m0", outcome: "yes" };

  test("the holders of a market are read for each settlement: who bought after a refused one is paid too", async () => {
    await bench.run(bench.submit(buy(DOLLAR), 0, keyed()));
    const refused = await bench.run(bench.submit(settle, 0, keyed({ requestHash: "settle" })));
    expect(code(refused)).toBe("IDEMPOTENCY_MISMATCH");
    await bench.run(bench.submit(buy(DOLLAR, "m0", "u1")));
    const paid = await bench.run(bench.submit(settle));
    expect(paid).toMatchObject({ answer: { result: { payouts: 2 } } });
    expect(bench.balance("escrow:m0")).toBe(0n);
  });

  test("stays valid after a fence: the process goes on at the new epoch, on the fast path", async () => {
    const [journal] = bench.journals;
    journal.plan.push({ statement: "commit", fate: "answerLost" });
    await bench.run(bench.submit(depositOf("a")));
    journal.sent.clear();
    await bench.run(bench.submit(depositOf("b")));
    expect(Object.fromEntries(journal.sent)).toEqual({ load: 1, commit: 1 });
  });

  test("a settlement frees the exposure of those whose positions are in memory", async () => {
    await bench.run(bench.submit(buy(200n * DOLLAR)));
    expect(code(await bench.run(bench.submit(buy(40n * DOLLAR))))).toBe("EXPOSURE_EXCEEDED");
    await bench.run(bench.submit(settle));
    expect(code(await bench.run(bench.submit(buy(40n * DOLLAR, "m1"))))).toBe("answered");
  });
});
