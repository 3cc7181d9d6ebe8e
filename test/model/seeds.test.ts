import { expect, inject, test } from "vitest";
import { runScenario } from "./run.ts";
import { scenarioFor } from "./scenarios.ts";

const seeds = Array.from({ length: 20 }, (_, index) => index + 1);

test.each(seeds)("seed %i: the service does what the model says, for 300 steps", async (seed) => {
  const { failedAt, failure } = await runScenario(scenarioFor(seed, 300), inject("postgres"));
  expect(failure, `step ${failedAt}; npm run soak -- --seed ${seed} finds the shortest sequence`).toBeUndefined();
});
