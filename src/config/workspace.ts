import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { Fault } from "../domain/fault.ts";
import { defaultTenant } from "./environment.ts";
import { TENANT_ID } from "./selection/names.ts";
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
 * Looks for tenants in a directory; finding none is not an error until one is needed. If there is no other tenant, a
 * running demo is the tenant.
 *
 * @throws Fault CONFIG_INVALID if a tenant's folder has an invalid name: it may come with a
 * stranger's pull request, and a script that passes the name on would use `--allow-exec` as an option
 */
export function openWorkspace(directory: string = operatorDirectory()): Workspace {
  const root = resolve(directory);
  const tenants = folderNames(join(root, "tenants")).filter((id) => existsSync(tenantPath(root, id)));
  const unfit = tenants.flatMap((id) => problemOfTenant(id) ?? []);
  if (unfit.length > 0)
    throw new Fault("CONFIG_INVALID", `${unfit.join("; ")}: rename or remove its folder in tenants/`);
  return { directory: root, tenants: tenants.length === 0 && demoRuns(root) ? [DEMO_TENANT] : tenants };
}

/** Why a text cannot be a tenant's id; undefined if it can. */
export function problemOfTenant(tenant: string): string | undefined {
  return TENANT_ID.pattern.test(tenant) ? undefined : `A tenant's id ${TENANT_ID.rule} (got ${quoted(tenant)})`;
}

/** Quotes in printable ASCII, because a folder's name may contain anything. */
function quoted(name: string): string {
  return JSON.stringify(name).replace(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** The path of a tenant's file, whether or not it exists. The file of a running demo may be pmctl's own. */
export function tenantPath(directory: string, tenant: string): string {
  const own = join(directory, "tenants", tenant, "tenant.yaml");
  return tenant === DEMO_TENANT && !existsSync(own) && demoRuns(directory) ? PACKAGED_DEMO : own;
}

/**
 * The tenant of a command: the named one, else `PMCTL_TENANT`, else the only tenant.
 *
 * @throws Fault NOT_FOUND if the tenant does not exist, USAGE if none is named and the choice is ambiguous
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
