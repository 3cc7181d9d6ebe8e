import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { Fault } from "../domain/fault.ts";
import { defaultTenant } from "./environment.ts";
import { TenantId } from "./schema/scalars.ts";
import {
  DEMO_TENANT,
  demoRuns,
  folderNames,
  operatorDirectory,
  PACKAGED_DEMO,
} from "./selection/operator-directory.ts";

/** The operator's directory: `.env`, and `tenants/<id>/tenant.yaml` for each tenant. */
export interface Workspace {
  /** Absolute. */
  directory: string;
  /** The ids of its tenants, sorted. */
  tenants: string[];
}

/**
 * Looks for tenants in a directory; finding none is no error until one is needed. A running demo is its tenant where there
 * is no other.
 *
 * @throws Fault CONFIG_INVALID when the folder of a tenant has a name that no tenant may have: it may come with a
 * stranger's pull request, and a script that passes it on would read `--allow-exec` as an option
 */
export function openWorkspace(directory: string = operatorDirectory()): Workspace {
  const root = resolve(directory);
  const tenants = folderNames(join(root, "tenants")).filter((id) => existsSync(tenantPath(root, id)));
  const unfit = tenants.flatMap((id) => problemOfTenant(id) ?? []);
  if (unfit.length > 0)
    throw new Fault("CONFIG_INVALID", `${unfit.join("; ")}: rename or remove its folder in tenants/`);
  return { directory: root, tenants: tenants.length === 0 && demoRuns(root) ? [DEMO_TENANT] : tenants };
}

/** Why a text cannot be a tenant's id; undefined when it can. */
export function problemOfTenant(tenant: string): string | undefined {
  const id = TenantId.safeParse(tenant);
  return id.success ? undefined : `A tenant's id ${id.error.issues[0]?.message} (got ${quoted(tenant)})`;
}

/** In printable ASCII, because a folder's name may hold anything. */
function quoted(name: string): string {
  return JSON.stringify(name).replace(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Where a tenant's file stands, or would. That of a running demo may be pmctl's own. */
export function tenantPath(directory: string, tenant: string): string {
  const own = join(directory, "tenants", tenant, "tenant.yaml");
  return tenant === DEMO_TENANT && !existsSync(own) && demoRuns(directory) ? PACKAGED_DEMO : own;
}

/**
 * The tenant that a command means: the one it names, else `PMCTL_TENANT`, else the only one there is.
 *
 * @throws Fault NOT_FOUND when there is no such tenant, USAGE when none is named and the choice is not plain
 */
export function pickTenant({ directory, tenants }: Workspace, named?: string, fallback = defaultTenant()): string {
  const wanted = named ?? fallback;
  if (wanted !== undefined) {
    if (tenants.includes(wanted) || (wanted === DEMO_TENANT && demoRuns(directory))) return wanted;
    const origin = named === undefined ? " (from PMCTL_TENANT)" : "";
    throw new Fault(
      "NOT_FOUND",
      `There is no tenant ${JSON.stringify(wanted)}${origin} in ${directory}; ${listing(tenants)}`,
    );
  }
  const [only, ...others] = tenants;
  if (only === undefined) throw new Fault("USAGE", `There are no tenants in ${directory}; \`pmctl init\` creates one`);
  if (others.length > 0)
    throw new Fault("USAGE", `Which tenant? Name one with -t or PMCTL_TENANT; ${listing(tenants)}`);
  return only;
}

function listing(tenants: readonly string[]): string {
  return tenants.length === 0 ? "there are none (`pmctl init` creates one)" : `there are: ${tenants.join(", ")}`;
}
