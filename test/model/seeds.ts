import { expect, inject, test } from "vitest";
import { runScenario } from "./run.ts";
import { scenarioFor } from "./scenarios.ts";

/** The tests of these seeds. Two files hold them, because a file is run by one process, from its first test to its last. */
export function testSeeds(from: number, to: number): void {
  const seeds = Array.from({ length: to - from + 1 }, (_, index) => from + index);
  test.each(seeds)("seed %i: the service does what the model says, for 240 steps", async (seed) => {
    const { failedAt, failure } = await runScenario(scenarioFor(seed, 240), inject("postgres"));
    expect(failure, `step ${failedAt}; npm run soak -- --seed ${seed} finds the shortest sequence`).toBeUndefined();
  });
}
