import { beforeEach, describe, expect, test } from "vitest";
import type { Command } from "../../../src/engine/commands.ts";
import { Bench, buy, code, depositOf, type Heard } from "./bench.ts";

let bench: Bench;

beforeEach(async () => {
  bench = await Bench.open();
  // The rows are in memory, so that a batch is sent as soon as it may be.
  await bench.run(bench.submit(depositOf("before")));
  bench.batches.length = 0;
});

const DOLLAR = 1_000_000n;
const FATES = ["answered", "failed", "conflict", "neverSent", "answerLost", "zombie", "warned", "misshapen"] as const;

/** Submits the second command once the commit of the first is under way. */
async function pair(first: Command, second: Command, between?: () => Promise<unknown>): Promise<Heard[]> {
  const [journal] = bench.journals;
  const sent = Promise.withResolvers<void>();
  journal.onSend = (statement) => {
    if (statement !== "commit") return;
    journal.onSend = undefined;
    sent.resolve();
  };
  const one = bench.submit(first);
  await bench.run(sent.promise);
  await between?.();
  const two = bench.submit(second);
  return Promise.all([one, two]);
}

const references = () =>
  bench.database.audit
    .filter(({ type }) => type === "wallet.credited")
    .map(({ payloadText }) => JSON.parse(payloadText).txRef)
    .slice(-2);

/** What the trades on record cost, in dollars. */
const spent = () =>
  bench.database.audit
    .filter(({ type }) => type === "trade.executed")
    .map(({ payloadText }) => JSON.parse(payloadText).amount);

describe("two commits under way", () => {
  test("the second is executed on what the first will leave, sent before the first is answered, and answered after it", async () => {
    const endings: string[] = [];
    bench.journals[0].onPair = (each) => endings.push(each);
    await bench.run(bench.submit({ type: "updatePolicy", patch: { maxUserExposureUsd: 10_000, maxTradeUsd: 10_000 } }));
    await bench.run(bench.submit(buy(DOLLAR)));
    const rest = bench.balance("wallet:u0") - DOLLAR;
    const answers = bench.run(pair(buy(DOLLAR), buy(rest)));
    expect((await answers).map(code)).toEqual(["answered", "answered"]);
    expect(endings).toEqual(["in, then in"]);
    expect(bench.balance("wallet:u0")).toBe(0n);
  });

  test.each(FATES.flatMap((first) => FATES.map((second) => [first, second] as const)))(
    "each takes effect once and in order: the first is %s, the second %s",
    async (first, second) => {
      const [journal] = bench.journals;
      // Unlike a deposit, a second trade of a user has nothing to load, so it is sent before the first one's fate is heard.
      await bench.run(bench.submit(buy(DOLLAR)));
      journal.plan.push({ statement: "commit", fate: first }, { statement: "commit", fate: second });
      const pairs: string[] = [];
      journal.onPair = (endings) => pairs.push(endings);
      const heard = await bench.run(pair(buy(2n * DOLLAR), buy(3n * DOLLAR)));
      expect(heard.map(code)).toEqual(["answered", "answered"]);
      await bench.run(bench.scheduler.sleep(20_000));
      expect(pairs).not.toEqual([]);
      expect(spent()).toEqual(["1", "2", "3"]);
    },
  );

  test("the second falls with the first when another process was faster, and both start anew", async () => {
    const heard = await bench.run(
      pair(depositOf("a"), depositOf("b"), () => {
        const { seq, hash, epoch, ts } = bench.database.head;
        // As if another process had written since.
        bench.database.head = { seq, hash, epoch: epoch + 1n, ts };
        return Promise.resolve();
      }),
    );
    expect(heard.map(code)).toEqual(["answered", "answered"]);
    expect(references()).toEqual(["a", "b"]);
  });

  test("no batch goes behind a settlement or before it, nor behind one that leaves no entry", async () => {
    const endings: string[] = [];
    bench.journals[0].onPair = (each) => endings.push(each);
    const settle: Command = { type: "settleMarket", marketId: "m0", outcome: "yes" };
    const kept: Command = {
      type: "keepWebhook",
      outcome: "kept",
      webhook: { provider: "p", sha256: "s", event: "e", reference: null, userId: null, body: null },
    };
    for (const [one, two] of [
      [depositOf("a"), settle],
      [{ ...settle, marketId: "m1" }, depositOf("b")],
      [kept, depositOf("c")],
    ] as const) {
      const heard = await bench.run(pair(one, two));
      expect(heard.map(code)).toEqual(["answered", "answered"]);
    }
    expect(endings).toEqual([]);
  });

  test("a database that stays away leaves both OUTCOME_UNKNOWN, and each is there once at the most", async () => {
    const [journal] = bench.journals;
    journal.plan.push({ statement: "commit", fate: "answerLost" }, { statement: "commit", fate: "zombie" });
    const both = pair(buy(DOLLAR), buy(DOLLAR));
    await bench.run(bench.scheduler.sleep(3));
    journal.faults.outage = [0, bench.scheduler.now + 30_000];
    const heard = (await bench.run(both)).map(code);
    expect(heard).toEqual(["OUTCOME_UNKNOWN", "OUTCOME_UNKNOWN"]);
    await bench.run(bench.scheduler.sleep(60_000));
    expect(code(await bench.run(bench.submit(buy(DOLLAR))))).toBe("answered");
    expect(bench.entries("trade.executed")).toBeLessThanOrEqual(3);
  });
});
