import pMap from "p-map";
import type { PlannedTenant } from "../../app/apply/plan-tenant.ts";
import { loadEnvironment, serverUrl } from "../../config/environment.ts";
import { DirectorySecrets } from "../../config/secrets/secret-values.ts";
import { labelsOf } from "../../config/selection/choose-tenants.ts";
import { FLEET_FILE, readFleetFile, tenantsByWave } from "../../config/selection/fleet-file.ts";
import type { Labels } from "../../config/selection/selector.ts";
import { openWorkspace } from "../../config/workspace.ts";
import { Fault } from "../../domain/fault.ts";
import { counted } from "../../domain/text.ts";
import { type Globals, type Io, withConfig } from "../command.ts";

/** A tenant of the fleet, and its plan; without one, the error that stood in its way. */
export type PlannedMember = Member & ({ planned: PlannedTenant } | { planned?: undefined; error: unknown });

interface Member {
  tenant: string;
  labels: Labels;
  /** Of the server that the tenant is reached through; null for one of this directory. */
  url: string | null;
}

export interface PlannedFleet {
  waves: { name: string; parallelism: number; tenants: PlannedMember[] }[];
  /** Tenants that no wave selects. */
  unassigned: string[];
}

/**
 * Plans every tenant of every wave, as many at a time as the wave says: one that cannot be planned does not hide the others.
 *
 * @throws ConfigError for a `fleet.yaml` that is not valid, Fault NOT_FOUND when no wave selects a tenant
 */
export async function planEach(options: Globals, io: Pick<Io, "output">): Promise<PlannedFleet> {
  if (options.tenant !== undefined || options.url !== undefined)
    throw new Fault("USAGE", `${FLEET_FILE} names the tenants and their servers: leave --tenant and --url out`);
  const workspace = openWorkspace();
  const fleet = readFleetFile(workspace);
  const labels = labelsOf(workspace, workspace.tenants);
  const { waves, unassigned } = tenantsByWave(fleet.waves, labels);
  const count = labels.size - unassigned.length;
  if (count === 0) throw new Fault("NOT_FOUND", `No wave of ${FLEET_FILE} selects a tenant`);
  const { planTenant } = await import("../../app/apply/plan-tenant.ts");
  const others = new DirectorySecrets(workspace.directory, loadEnvironment(workspace.directory));
  let done = 0;

  const planned: PlannedFleet["waves"] = [];
  for (const { wave, tenants } of waves) {
    const { name, parallelism } = wave;
    planned.push({ name, parallelism, tenants: await pMap(tenants, planOne, { concurrency: parallelism }) });
  }
  return { waves: planned, unassigned };

  async function planOne(tenant: string): Promise<PlannedMember> {
    const usual = serverUrl(tenant);
    const url = usual === undefined ? fleet.tenants[tenant]?.url : undefined;
    const member = { tenant, labels: labels.get(tenant) ?? {}, url: usual ?? url ?? null };
    try {
      return {
        ...member,
        planned: await withConfig(workspace.directory, tenant, { ...options, url, others }, io, planTenant),
      };
    } catch (error) {
      return { ...member, error };
    } finally {
      done += 1;
      io.output.progress(`Looked at ${done} of ${counted(count, "tenant")}`);
    }
  }
}
