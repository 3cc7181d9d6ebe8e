import { expect, inject, test } from "vitest";
import { runScenario } from "./run.ts";
import { scenarioFor } from "./scenarios.ts";

/** The suite holds each of these seeds for 300 steps, in files of their own so that they run beside each other. */
export function holdSeeds(from: number, to: number): void {
  const seeds = Array.from({ length: to - from + 1 }, (_, index) => from + index);
  test.each(seeds)("seed %i: the service does what the model says, for 300 steps", async (seed) => {
    const { failedAt, failure } = await runScenario(scenarioFor(seed, 300), inject("postgres"));
    expect(failure, `step ${failedAt}; npm run soak -- --seed ${seed} finds the shortest sequence`).toBeUndefined();
  });
}
