import { parseArgs } from "node:util";
import type { ClusterConnection } from "../../src/postgres/embedded/connection.ts";
import { openCluster } from "./cluster.ts";
import { type RunResult, runScenario } from "./run.ts";
import { scenarioFor } from "./scenarios.ts";
import { shrink } from "./shrink.ts";
import type { Scenario } from "./steps.ts";

/**
 * Runs fresh seeds until the time is over or one fails. A failure is shortened, and printed with what runs it again:
 *
 *     npm run soak -- --minutes 60            fresh seeds for an hour
 *     npm run soak -- --seed 17               this seed alone
 *     npm run soak -- --seed 17 --steps 0,4,9 these steps of it alone
 *     npm run soak -- --seeds 1-20            these seeds, to the first that fails
 */
const { values } = parseArgs({
  options: {
    minutes: { type: "string" },
    seed: { type: "string" },
    seeds: { type: "string" },
    steps: { type: "string" },
    length: { type: "string", default: "300" },
    "no-shrink": { type: "boolean", default: false },
  },
});

const SHRINK_MINUTES = 5;
const length = Number(values.length);
function* seedsToRun(): Generator<number> {
  if (values.seed !== undefined && values.minutes === undefined) return yield Number(values.seed);
  if (values.seeds !== undefined) {
    const [from = 1, to = from] = values.seeds.split("-").map(Number);
    for (let seed = from; seed <= to; seed++) yield seed;
    return;
  }
  const end = Date.now() + Number(values.minutes ?? 1) * 60_000;
  for (let seed = Number(values.seed ?? Date.now() % 1_000_000_000); Date.now() < end; seed++) yield seed;
}

function chosenSteps(scenario: Scenario): number[] {
  return values.steps?.split(",").map(Number) ?? scenario.steps.map((_, index) => index);
}

function runSteps(scenario: Scenario, indices: readonly number[], template: ClusterConnection): Promise<RunResult> {
  const steps = indices.flatMap((index) => scenario.steps[index] ?? []);
  return runScenario({ ...scenario, steps }, template);
}

/** Prints the failure, the shortest sequence that shows it, and how to run that again. */
async function report(
  scenario: Scenario,
  indices: number[],
  result: RunResult,
  template: ClusterConnection,
): Promise<void> {
  const { failedAt = 0, failure } = result;
  console.log(`seed ${scenario.seed}: step ${indices[failedAt] ?? "of the end"} departs\n${failure}`);
  if (values["no-shrink"]) return;
  const end = Date.now() + SHRINK_MINUTES * 60_000;
  const kind = (text: string | undefined) => /^[A-Za-z]+ \/?[\w/]*/.exec(text ?? "")?.[0].replace(/mkt_\w+/, "");
  const fails = async (candidate: readonly number[]) => {
    const shorter = await runSteps(scenario, candidate, template);
    return shorter.failedAt !== undefined && kind(shorter.failure) === kind(failure);
  };
  const shortest = await shrink(indices.slice(0, failedAt + 1), fails, () => Date.now() < end);
  console.log(`the shortest sequence found has ${shortest.length} steps:`);
  for (const index of shortest) console.log(`  ${index}: ${JSON.stringify(scenario.steps[index])}`);
  console.log(`npm run soak -- --seed ${scenario.seed} --steps ${shortest.join(",")}`);
}

const { template, close } = await openCluster();
const started = Date.now();
const totals = { seeds: 0, steps: 0, calls: 0, reads: 0 };
try {
  for (const seed of seedsToRun()) {
    const scenario = scenarioFor(seed, length);
    const indices = chosenSteps(scenario);
    const begun = Date.now();
    const result = await runSteps(scenario, indices, template);
    totals.seeds += 1;
    totals.steps += result.failedAt ?? indices.length;
    totals.calls += result.calls;
    totals.reads += result.reads;
    if (result.failedAt !== undefined) {
      await report(scenario, indices, result, template);
      process.exitCode = 1;
      break;
    }
    console.log(
      `seed ${seed}: ${indices.length} steps, ${result.calls} calls, ${result.reads} reads, ${Date.now() - begun} ms`,
    );
  }
  const { seeds, steps, calls, reads } = totals;
  const seconds = Math.round((Date.now() - started) / 1000);
  console.log(`${seeds} seeds, ${steps} steps, ${calls} calls, ${reads} reads compared in ${seconds} s`);
} finally {
  await close();
}
