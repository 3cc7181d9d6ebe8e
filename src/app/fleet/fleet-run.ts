import pMap from "p-map";
import { z } from "zod";
import type { Json } from "../../domain/audit/audit-link.ts";
import { counted } from "../../domain/text.ts";

/** A tenant's state before a run changed it, for the way back. */
const Standing = z.strictObject({
  /** The audit entry of the tenant's last apply; null for a tenant that was never applied. */
  seq: z.number().int().nullable(),
  /** Live values of the fields that the run writes, because no document has the drift that it overwrites. */
  live: z.record(z.string(), z.custom<Json>()),
});
export type Standing = z.output<typeof Standing>;

const RunTenant = z.strictObject({
  tenant: z.string(),
  state: z.enum(["pending", "applied", "unchanged", "refused", "failed", "rolledBack"]),
  /** The audit entry of the tenant's last apply, or of the rollback. */
  seq: z.number().int().nullable(),
  problem: z.string().nullable(),
  /** Stored before anything of the tenant is written; absent until then. */
  stood: Standing.optional(),
  /** Whether the run changed the tenant, or may have; stays true after a rollback. */
  wrote: z.boolean().default(false),
});
export type RunTenant = z.output<typeof RunTenant>;

const GateResult = z.strictObject({
  check: z.string(),
  tenant: z.string(),
  ok: z.boolean(),
  found: z.string(),
});
export type GateResult = z.output<typeof GateResult>;

const RunWave = z.strictObject({
  name: z.string(),
  state: z.enum(["pending", "running", "passed", "failed", "rolledBack"]),
  gate: z.array(GateResult),
  tenants: z.array(RunTenant),
  /** The wave failed and is being rolled back. An interrupted rollback is finished before anything else. */
  goesBack: z.boolean().default(false),
});
export type RunWave = z.output<typeof RunWave>;

/** A stored run of `fleet apply`, from which a later command decides how to continue. */
export const FleetRun = z.strictObject({
  run: z.string(),
  /** Digest of all files at the start of the run. */
  files: z.string(),
  state: z.enum(["running", "interrupted", "failed", "done"]),
  startedAt: z.string(),
  endedAt: z.string().nullable(),
  waves: z.array(RunWave),
});
export type FleetRun = z.output<typeof FleetRun>;

/** The result of changing a tenant. Without `wrote`, nothing new is known about that. */
export type Outcome = Pick<RunTenant, "state" | "seq" | "problem"> & { wrote?: boolean };

/**
 * Receives a tenant's state before the run changes it.
 * @param isIn whether an earlier attempt of the run was committed; the state is then from before that attempt
 */
export type Stands = (standing: Standing, isIn: boolean) => void;

/** The first words of the reason of every change of a run, which distinguish them from other changes. */
export const reasonOfRun = ({ run }: Pick<FleetRun, "run">): string => `fleet run ${run}`;

export interface WavePlan {
  parallelism: number;
  onFailure: "stop" | "rollback";
}

/** The actions of a run on tenants. They do not throw for a tenant's error: the outcome reports it. */
export interface Steps {
  /** Whether the files differ from those at the start of the run. */
  filesChanged(): Promise<boolean>;
  /**
   * @param earlier the tenant's state before an earlier attempt of this run
   * @param stands called before anything is written
   */
  apply(tenant: string, earlier: Standing | undefined, stands: Stands): Promise<Outcome>;
  rollBack(tenant: string, standing: Standing): Promise<Outcome>;
  /** Checks the gate of a wave, and reports each result when it is known. */
  gate(wave: string, found: (result: GateResult) => void): Promise<void>;
  /** Stores the run. When it returns, the state survives the process. */
  save(run: FleetRun): void;
  /** Reports to people what has just happened. */
  tell(line: string): void;
}

export function newRun(
  facts: Pick<FleetRun, "run" | "files" | "startedAt">,
  waves: readonly { name: string; tenants: readonly string[] }[],
): FleetRun {
  const tenantOf = (tenant: string): RunTenant => ({
    tenant,
    state: "pending",
    seq: null,
    problem: null,
    wrote: false,
  });
  return {
    ...facts,
    state: "running",
    endedAt: null,
    waves: waves.map(({ name, tenants }) => ({
      name,
      state: "pending",
      gate: [],
      tenants: tenants.map(tenantOf),
      goesBack: false,
    })),
  };
}

/** Whether the run changed any tenant, or may have, including tenants that were rolled back. */
export function hasWritten({ waves }: Pick<FleetRun, "waves">): boolean {
  return waves.some(({ tenants }) => tenants.some(({ wrote }) => wrote));
}

const isStanding = ({ state }: RunTenant): boolean => state === "applied" || state === "unchanged";

/** The text for a wave that selects only tenants of earlier waves. */
export const NONE_LEFT = "nothing to do: all of its tenants are in earlier waves";

/** The context of a run. */
interface Surroundings {
  /** The plans of the run's waves, in their order. */
  plans: readonly WavePlan[];
  /** When it is aborted, nothing new is started, and the run ends as interrupted. */
  signal: AbortSignal;
  now: () => string;
}

/**
 * Carries out a run from its present state: waves in order, none after a wave that did not pass. Every step is stored
 * before the next one depends on it, so a run can continue after a kill at any instant. An interrupted run keeps its
 * applies and passed gates; an unfinished gate is checked again from its beginning.
 */
export async function carryOut(run: FleetRun, steps: Steps, { plans, signal, now }: Surroundings): Promise<void> {
  run.state = "running";
  run.endedAt = null;
  steps.save(run);
  for (const [index, wave] of run.waves.entries()) {
    if (wave.state === "passed") continue;
    // The passed gates are valid only for the files at that time.
    if (!wave.goesBack && (await steps.filesChanged())) {
      steps.tell(`${wave.name}: the files changed during the run, so it ends here`);
      return end("failed");
    }
    const plan = plans[index] ?? { parallelism: 1, onFailure: "stop" };
    const ended = await carryOutWave(run, wave, steps, plan, signal);
    if (ended !== "passed") return end(ended);
  }
  end("done");

  function end(state: FleetRun["state"]): void {
    run.state = state;
    if (state !== "interrupted") run.endedAt = now();
    steps.save(run);
  }
}

async function carryOutWave(
  run: FleetRun,
  wave: RunWave,
  steps: Steps,
  plan: WavePlan,
  signal: AbortSignal,
): Promise<"passed" | "failed" | "interrupted"> {
  if (!wave.goesBack && !signal.aborted) await attempt(run, wave, steps, plan, signal);
  if (wave.goesBack && !signal.aborted) await goBack(run, wave, steps, plan, signal);
  if (wave.state === "passed") return "passed";
  return wave.state === "pending" || wave.state === "running" || wave.goesBack ? "interrupted" : "failed";
}

/** Applies the remaining tenants of the wave, then checks the gate; leaves the wave running when interrupted. */
async function attempt(run: FleetRun, wave: RunWave, steps: Steps, plan: WavePlan, signal: AbortSignal): Promise<void> {
  wave.state = "running";
  wave.gate = [];
  const due = wave.tenants.filter((tenant) => !isStanding(tenant));
  for (const tenant of due) {
    // A tenant that was rolled back has another state now than before its first attempt.
    if (tenant.state === "rolledBack") delete tenant.stood;
    Object.assign(tenant, { state: "pending", problem: null });
  }
  steps.save(run);
  if (due.length > 0)
    steps.tell(`${wave.name}: applying ${counted(due.length, "tenant")}, ${plan.parallelism} at a time`);
  let failed = false;
  const applyOne = async (tenant: RunTenant): Promise<void> => {
    if (failed || signal.aborted) return;
    const outcome = await steps.apply(tenant.tenant, tenant.stood, (standing) => {
      // From here on a kill is possible at any instant, and the next process must know that this one may have written.
      Object.assign(tenant, { stood: standing, wrote: true });
      steps.save(run);
    });
    Object.assign(tenant, outcome);
    failed ||= !isStanding(tenant);
    steps.save(run);
    steps.tell(`${wave.name}: ${outcomeLine(tenant)}`);
  };
  await pMap(due, applyOne, { concurrency: plan.parallelism });
  if (signal.aborted && !failed) return;
  if (!failed) {
    await untilAborted(
      steps.gate(wave.name, (result) => {
        wave.gate.push(result);
        steps.save(run);
        steps.tell(
          `${wave.name}: ${result.check} of ${result.tenant} ${result.ok ? "passed" : "FAILED"}: ${result.found}`,
        );
      }),
      signal,
    );
    if (signal.aborted) return;
    failed = wave.gate.some(({ ok }) => !ok);
  }
  wave.state = failed ? "failed" : "passed";
  // A wave that wrote nothing has nothing to roll back: it failed.
  wave.goesBack = failed && plan.onFailure === "rollback" && wave.tenants.some(({ wrote }) => wrote);
  steps.save(run);
  steps.tell(`${wave.name}: ${failed ? "failed" : passedLine(wave)}`);
}

/** Rolls back every tenant that the run may have changed. */
async function goBack(run: FleetRun, wave: RunWave, steps: Steps, plan: WavePlan, signal: AbortSignal): Promise<void> {
  const rollBackOne = async (tenant: RunTenant): Promise<void> => {
    if (!tenant.wrote || tenant.state === "rolledBack" || tenant.stood === undefined || signal.aborted) return;
    Object.assign(tenant, await steps.rollBack(tenant.tenant, tenant.stood));
    steps.save(run);
    steps.tell(`${wave.name}: ${outcomeLine(tenant)}`);
  };
  wave.state = "running";
  steps.tell(`${wave.name}: rolling each tenant back to its state before the run`);
  await pMap(wave.tenants, rollBackOne, { concurrency: plan.parallelism });
  if (signal.aborted) return;
  wave.goesBack = false;
  wave.state = wave.tenants.every(({ wrote, state }) => !wrote || state === "rolledBack") ? "rolledBack" : "failed";
}

function passedLine({ tenants }: RunWave): string {
  return tenants.length === 0 ? NONE_LEFT : `passed with ${counted(tenants.length, "tenant")}`;
}

function outcomeLine({ tenant, state, seq, problem }: RunTenant): string {
  const entry = seq === null ? "" : ` (audit entry ${seq})`;
  return `${tenant} ${state === "rolledBack" ? "rolled back" : state}${entry}${problem === null ? "" : `: ${problem}`}`;
}

/** Also ends with the signal, without waiting for a long command of a gate. */
async function untilAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  let stop = () => {};
  const aborted = new Promise<void>((resolve) => {
    stop = resolve;
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
