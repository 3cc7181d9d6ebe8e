import { describe, expect, test } from "vitest";
import { simulate } from "./simulation.ts";
import { judge } from "./verdict.ts";

/** More of them, or one again: PMCTL_SIMULATION_FIRST=4711 PMCTL_SIMULATION_SEEDS=1 npx vitest run test/ledger/sequencer/simulation */
const FIRST = Number(process.env.PMCTL_SIMULATION_FIRST ?? 1);
const SEEDS = Number(process.env.PMCTL_SIMULATION_SEEDS ?? 600);
const PARTS = 5;
// Stacks of the many refusals are never read, and making them takes a tenth of the time.
Error.stackTraceLimit = 0;

const statistics = new Map<string, number>();

/** One run, with what happened in it attached when it fails. */
async function check(seed: number): Promise<void> {
  const run = await simulate(seed);
  try {
    judge(run);
  } catch (error) {
    const notes: string[] = [];
    await simulate(seed, notes);
    throw new Error(`seed ${seed}: ${(error as Error).message}\n${notes.join("\n")}`, { cause: error });
  }
  for (const [what, times] of run.statistics) statistics.set(what, (statistics.get(what) ?? 0) + times);
}

/**
 * Each seed is a history of its own: two processes, up to five clients, statements that get lost before or after their
 * effect, come late, fail or wait, an outage, a killed process, a clock that is set. See verdict.ts for what must hold.
 */
describe("whatever happens, answers and journal agree with a naive replay of the journal", () => {
  const parts = Array.from({ length: PARTS }, (_, part) => FIRST + Math.floor((part * SEEDS) / PARTS));
  test.each(parts.map((from, part) => [from, (parts[part + 1] ?? FIRST + SEEDS) - 1]))(
    "seeds %d to %d",
    { timeout: 600_000 },
    async (from, to) => {
      for (let seed = from; seed <= to; seed++) await check(seed);
    },
  );

  test.runIf(SEEDS >= 600)("the histories contain every kind of event often enough", () => {
    for (const event of [
      ...["done", "replayed", "silence", "crashes", "failovers that lost something", "batches of several"],
      ...["OUTCOME_UNKNOWN", "DATABASE_UNAVAILABLE", "OVERLOADED", "INTERNAL", "IDEMPOTENCY_MISMATCH"],
      ...["MARKET_CLOSED", "MARKET_SUSPENDED", "MARKET_SETTLED", "INSUFFICIENT_FUNDS", "EXPOSURE_EXCEEDED"],
      // Two commits under way at once, and turns taken.
      ...["in, then in", "turns"],
      // Commands passed to another process, lost with it, and called back from it.
      ...["passed", "leaders lost", "called back", "answered from what is stored"],
      ...["KYC_REQUIRED", "MAX_TRADE_EXCEEDED", "PRICE_BOUND", "TREASURY_INSUFFICIENT"],
    ])
      expect(statistics.get(event) ?? 0, event).toBeGreaterThan(10);
  });

  test("the same seed gives the same history, to the last entry", async () => {
    const [one, two] = [await simulate(FIRST + 6), await simulate(FIRST + 6)];
    expect(one.database.audit).toEqual(two.database.audit);
    expect(one.attempts.map(({ outcome }) => outcome.kind)).toEqual(two.attempts.map(({ outcome }) => outcome.kind));
  });
});
