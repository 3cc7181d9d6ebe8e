import { expect, test } from "vitest";
import { type Run, simulate } from "./simulation.ts";
import { judge } from "./verdict.ts";

const FIRST = Number(process.env.PMCTL_SIMULATION_FIRST ?? 1);
const SEEDS = Number(process.env.PMCTL_SIMULATION_SEEDS ?? 300);

test("x", { timeout: 600_000 }, async () => {
  const total = new Map<string, number>();
  const failures: string[] = [];
  const start = performance.now();
  for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
    const run: Run = await simulate(seed);
    try { judge(run); } catch (error) { failures.push(`seed ${seed}: ${(error as Error).message}`); }
    for (const [k, v] of run.statistics) total.set(k, (total.get(k) ?? 0) + v);
  }
  console.log(performance.now() - start, total, failures.length, failures.slice(0, 20));
  expect(failures.length).toBe(0);
});
