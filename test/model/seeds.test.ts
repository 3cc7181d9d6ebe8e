import { expect, inject, test } from "vitest";
import { runScenario } from "./run.ts";
import { scenarioOf } from "./scenario.ts";

const SEEDS = Number(process.env.MODEL_SEEDS ?? 2);

test.each(Array.from({ length: SEEDS }, (_, index) => index + 1))("seed %i", async (seed) => {
  const started = performance.now();
  const { failedAt, failure, calls, reads } = await runScenario(scenarioOf(seed, 300), inject("postgres"));
  console.log(seed, calls, reads, Math.round(performance.now() - started));
  expect(failure, `step ${failedAt}`).toBeUndefined();
});
