import { scenarioOf } from "./scenario.ts";
import type { Scenario } from "./steps.ts";

/** Every so many seeds one has processes of its own, which are killed, and a command line. */
const PROCESSES_EVERY = 10;

/** The scenario of a seed as the suite, the soak and the faults run it. */
export const scenarioFor = (seed: number, length: number): Scenario =>
  scenarioOf(seed, length, seed % PROCESSES_EVERY === 0 ? "processes" : "within");
