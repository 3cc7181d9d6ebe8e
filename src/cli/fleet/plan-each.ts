import type { PlannedTenant } from "../../app/apply/plan-tenant.ts";
import { loadEnvironment } from "../../config/environment.ts";
import { DirectorySecrets } from "../../config/secrets/secret-values.ts";
import { counted } from "../../domain/text.ts";
import { type Globals, type Io, withConfig } from "../command.ts";
import { readEach } from "../input/tenants.ts";
import { type Member, readFleet } from "./read-fleet.ts";

/** A tenant of the fleet, and its plan; without one, the error that stood in its way. */
export type PlannedMember = Member & ({ planned: PlannedTenant } | { planned?: undefined; error: unknown });

export interface PlannedFleet {
  waves: { name: string; parallelism: number; tenants: PlannedMember[] }[];
  /** Tenants that no wave selects. */
  unassigned: string[];
}

/**
 * Plans every tenant of every wave: one that cannot be planned does not hide the others. A plan changes nothing, so it need
 * not keep to the number that a wave is applied by.
 *
 * @throws as `readFleet`
 */
export async function planEach(options: Globals, io: Pick<Io, "output">): Promise<PlannedFleet> {
  const { directory, waves, unassigned, count } = readFleet(options);
  const others = new DirectorySecrets(directory, loadEnvironment(directory));
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
