import { scenarioOf } from "./scenario.ts";
import type { Scenario } from "./steps.ts";

/** Every so many seeds one has processes of its own, which are killed, and a command line. */
const PROCESSES_EVERY = 10;

/** Of as many seeds, those in which some changes wait for other actors or for their time. */
const GOVERNED = [6, 8];

/** The scenario of a seed as the suite, the soak and the faults run it. */
export const scenarioFor = (seed: number, length: number): Scenario =>
  scenarioOf(seed, length, {
    servers: seed % PROCESSES_EVERY === 0 ? "processes" : "within",
    isGoverned: GOVERNED.includes(seed % PROCESSES_EVERY),
  });
