import type { PlannedTenant } from "../../app/apply/plan-tenant.ts";
import { serverUrl } from "../../config/environment.ts";
import { DirectorySecrets } from "../../config/secrets/secret-values.ts";
import { labelsOf } from "../../config/selection/choose-tenants.ts";
import { readFleetFile, selectsNothing, tenantsByWave, type Wave } from "../../config/selection/fleet-file.ts";
import { FLEET_FILE } from "../../config/selection/names.ts";
import type { Labels } from "../../config/selection/selector.ts";
import { openWorkspace } from "../../config/workspace.ts";
import { Fault } from "../../domain/fault.ts";
import { counted } from "../../domain/text.ts";
import { type Globals, type Io, withConfig } from "../command.ts";
import { readEach } from "../input/tenants.ts";

/** A tenant of the fleet, with the way to reach it. */
export interface Member {
  tenant: string;
  labels: Labels;
  /** Address of the tenant's server; null for a server of this directory. */
  url: string | null;
  /** The address in the fleet's file; undefined where a variable takes precedence, or neither states an address. */
  statedUrl: string | undefined;
}

export interface Fleet {
  directory: string;
  waves: { wave: Wave; members: Member[] }[];
  /** Tenants that no wave selects. */
  unassigned: string[];
  /** The number of tenants that the waves select. */
  count: number;
}

/**
 * Reads the fleet of this directory: its waves and their tenants.
 *
 * @throws ConfigError for an invalid `fleet.yaml`; Fault NOT_FOUND when a wave, or a pattern of one, selects no tenant;
 *   USAGE when the command line also names a tenant or a server
 */
export function readFleet({ tenant, url }: Pick<Globals, "tenant" | "url">): Fleet {
  if (tenant !== undefined || url !== undefined)
    throw new Fault("USAGE", `${FLEET_FILE} names the tenants and their servers: leave out --tenant and --url`);
  const workspace = openWorkspace();
  const fleet = readFleetFile(workspace);
  const labels = labelsOf(workspace, workspace.tenants);
  requireSelections(fleet.waves, labels);
  const { waves, unassigned } = tenantsByWave(fleet.waves, labels);
  const count = labels.size - unassigned.length;
  const memberOf = (name: string): Member => {
    const usual = serverUrl(name);
    const statedUrl = usual === undefined ? fleet.tenants[name]?.url : undefined;
    return { tenant: name, labels: labels.get(name) ?? {}, url: usual ?? statedUrl ?? null, statedUrl };
  };
  const filled = waves.map(({ wave, tenants }) => ({ wave, members: tenants.map(memberOf) }));
  return { directory: workspace.directory, waves: filled, unassigned, count };
}

/** A misspelt label leaves a canary wave empty. Its gate would guard nothing, and the other waves would go on. */
function requireSelections(waves: readonly Wave[], labels: ReadonlyMap<string, Labels>): void {
  const empty = waves.flatMap((wave) => {
    const stated = selectsNothing(wave, labels);
    return stated === undefined ? [] : [`wave ${wave.name} selects no tenant by ${stated}`];
  });
  if (empty.length > 0)
    throw new Fault("NOT_FOUND", `In ${FLEET_FILE} ${empty.join("; ")}: \`pmctl tenant list\` shows their labels`);
}

/** A tenant of the fleet with its plan, or with the error that prevented the plan. */
export type PlannedMember = Member & ({ planned: PlannedTenant } | { planned?: undefined; error: unknown });

interface PlannedFleet {
  waves: { name: string; parallelism: number; tenants: PlannedMember[] }[];
  /** Tenants that no wave selects. */
  unassigned: string[];
}

/**
 * Plans every tenant of every wave, so a failure does not hide the other tenants. A plan changes nothing, so it ignores
 * a wave's limit of tenants at a time.
 *
 * @throws the errors of `readFleet`
 */
export async function planEach(options: Globals, io: Pick<Io, "output">): Promise<PlannedFleet> {
  const { directory, waves, unassigned, count } = readFleet(options);
  const others = new DirectorySecrets(directory);
  const { planTenant } = await import("../../app/apply/plan-tenant.ts");
  let done = 0;

  const planned: PlannedFleet["waves"] = [];
  for (const { wave, members } of waves) {
    const { name, parallelism } = wave;
    planned.push({ name, parallelism, tenants: await readEach(members, planOne) });
  }
  return { waves: planned, unassigned };

  async function planOne(member: Member): Promise<PlannedMember> {
    const { tenant, statedUrl: fleetUrl } = member;
    try {
      return {
        ...member,
        planned: await withConfig(directory, tenant, { ...options, fleetUrl, others }, io, planTenant),
      };
    } catch (error) {
      return { ...member, error };
    } finally {
      done += 1;
      io.output.progress(`Looked at ${done} of ${counted(count, "tenant")}`);
    }
  }
}
