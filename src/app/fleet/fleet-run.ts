import { z } from "zod";
import type { Json } from "../../domain/audit/audit-link.ts";

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

/** A run of which nothing was done yet. */
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

export const isStanding = ({ state }: RunTenant): boolean => state === "applied" || state === "unchanged";
