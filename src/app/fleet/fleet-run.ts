import pMap from "p-map";
import { z } from "zod";
import type { Json } from "../../domain/audit/audit-link.ts";
import { counted } from "../../domain/text.ts";

/** Where a tenant stood before a run changed it, for the way back. */
const Standing = z.strictObject({
  /** The audit entry of its last apply; null for a tenant that was never applied. */
  seq: z.number().int().nullable(),
  /** Live values of the fields that the run writes: drift that it overwrites is in no document. */
  live: z.record(z.string(), z.custom<Json>()),
});
export type Standing = z.output<typeof Standing>;

const RunTenant = z.strictObject({
  tenant: z.string(),
  state: z.enum(["pending", "applied", "unchanged", "refused", "failed", "rolledBack"]),
  /** The audit entry of the tenant's last apply, or of the rollback. */
  seq: z.number().int().nullable(),
  problem: z.string().nullable(),
  /** Written down before anything of the tenant is; absent until then. */
  stood: Standing.optional(),
  /** Whether the run changed the tenant, or may have; true also of one that went back. */
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
  /** The wave failed and is on its way back; an interrupted rollback is finished before anything else. */
  goesBack: z.boolean().default(false),
});
export type RunWave = z.output<typeof RunWave>;

/** A run of `fleet apply` as it is kept, which all decisions about going on are made from. */
export const FleetRun = z.strictObject({
  run: z.string(),
  /** Digest of all files that the run was begun with. */
  files: z.string(),
  state: z.enum(["running", "interrupted", "failed", "done"]),
  startedAt: z.string(),
  endedAt: z.string().nullable(),
  waves: z.array(RunWave),
});
export type FleetRun = z.output<typeof FleetRun>;

/** What came of the attempt to change a tenant. Without `wrote` it is not known any better than before. */
export type Outcome = Pick<RunTenant, "state" | "seq" | "problem"> & { wrote?: boolean };

/**
 * Gets where a tenant stands before the run changes it.
 * @param isIn whether an earlier attempt of the run is in: then it is where the tenant stood before that one
 */
export type Stands = (standing: Standing, isIn: boolean) => void;

/** What the reason of every change that a run makes begins with: how its own are told from those of others. */
export const reasonOfRun = ({ run }: Pick<FleetRun, "run">): string => `fleet run ${run}`;

/** How a wave is carried out. */
export interface WavePlan {
  parallelism: number;
  onFailure: "stop" | "rollback";
}

/** What a run does to tenants. Steps do not throw for what a tenant answers: an outcome says it. */
export interface Steps {
  /** Whether the files are no longer those that the run was begun with. */
  filesChanged(): Promise<boolean>;
  /**
   * @param earlier where the tenant stood before an earlier attempt of this run
   * @param stands called before anything is written
   */
  apply(tenant: string, earlier: Standing | undefined, stands: Stands): Promise<Outcome>;
  rollBack(tenant: string, standing: Standing): Promise<Outcome>;
  /** Looks at the gate of a wave, and gives each result as it comes. */
  gate(wave: string, found: (result: GateResult) => void): Promise<void>;
  /** Keeps the run. Once it returns, the state outlives the process. */
  save(run: FleetRun): void;
  /** For people: what has just happened. */
  tell(line: string): void;
}

/** A run before its first step. */
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

/** Whether the run changed any tenant, or may have; what went back counts too. */
export function hasWritten({ waves }: Pick<FleetRun, "waves">): boolean {
  return waves.some(({ tenants }) => tenants.some(({ wrote }) => wrote));
}

const isStanding = ({ state }: RunTenant): boolean => state === "applied" || state === "unchanged";

/** What people read of a wave that selects only tenants of earlier ones. */
export const NONE_LEFT = "nothing to do: all of its tenants are in earlier waves";

/** What a run needs beside its steps. */
interface Surroundings {
  /** Of the waves of the run, in their order. */
  plans: readonly WavePlan[];
  /** When given, nothing new is begun: the run ends as interrupted. */
  signal: AbortSignal;
  now: () => string;
}

/**
 * Carries out a run from where it stands: waves in order, none behind one that did not pass. Every step is kept before the
 * next one depends on it, so a process that is killed at any instant leaves a run that can go on. A run that is interrupted
 * keeps what was applied and which gates were passed; the gate that was not is looked at again, from its beginning.
 */
export async function carryOut(run: FleetRun, steps: Steps, { plans, signal, now }: Surroundings): Promise<void> {
  run.state = "running";
  run.endedAt = null;
  steps.save(run);
  for (const [index, wave] of run.waves.entries()) {
    if (wave.state === "passed") continue;
    // Gates that passed spoke for the files as they were.
    if (!wave.goesBack && (await steps.filesChanged())) {
      steps.tell(`${wave.name}: the files changed while the run was at work, so it ends here`);
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

/** Applies the wave's tenants that do not stand yet, then looks at the gate; leaves the wave running when interrupted. */
async function attempt(run: FleetRun, wave: RunWave, steps: Steps, plan: WavePlan, signal: AbortSignal): Promise<void> {
  wave.state = "running";
  wave.gate = [];
  const due = wave.tenants.filter((tenant) => !isStanding(tenant));
  for (const tenant of due) {
    // One that went back stands elsewhere now than before its first attempt.
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
      // From here on the process may be killed at any instant, and the next one must know that it may have written.
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
  // Of a wave that wrote nothing there is nothing to take back: it failed, and says so.
  wave.goesBack = failed && plan.onFailure === "rollback" && wave.tenants.some(({ wrote }) => wrote);
  steps.save(run);
  steps.tell(`${wave.name}: ${failed ? "failed" : passedLine(wave)}`);
}

/** Takes every tenant that the run may have changed back to where it stood. */
async function goBack(run: FleetRun, wave: RunWave, steps: Steps, plan: WavePlan, signal: AbortSignal): Promise<void> {
  const rollBackOne = async (tenant: RunTenant): Promise<void> => {
    if (!tenant.wrote || tenant.state === "rolledBack" || tenant.stood === undefined || signal.aborted) return;
    Object.assign(tenant, await steps.rollBack(tenant.tenant, tenant.stood));
    steps.save(run);
    steps.tell(`${wave.name}: ${outcomeLine(tenant)}`);
  };
  wave.state = "running";
  steps.tell(`${wave.name}: going back to where each tenant stood`);
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
  return `${tenant} ${state === "rolledBack" ? "went back" : state}${entry}${problem === null ? "" : `: ${problem}`}`;
}

/** Ends with the signal too: a long command of a gate is not waited for. */
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
