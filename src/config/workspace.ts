import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { Fault } from "../domain/fault.ts";
import { defaultTenant, isErrno } from "./environment.ts";
import { TenantId } from "./schema/scalars.ts";

/** The operator's directory: `.env`, and `tenants/<id>/tenant.yaml` for each tenant. */
export interface Workspace {
  /** Absolute. */
  directory: string;
  /** The ids of its tenants, sorted. */
  tenants: string[];
}

/**
 * Looks for tenants in a directory; finding none is no error until one is needed.
 *
 * @throws Fault CONFIG_INVALID when the folder of a tenant has a name that no tenant may have: it may come with a
 * stranger's pull request, and a script that passes it on would read `--allow-exec` as an option
 */
export function openWorkspace(directory: string = process.cwd()): Workspace {
  const root = resolve(directory);
  const tenants = folderNames(join(root, "tenants")).filter((id) => existsSync(tenantPath(root, id)));
  const unfit = tenants.flatMap((id) => problemOfTenant(id) ?? []);
  if (unfit.length > 0)
    throw new Fault("CONFIG_INVALID", `${unfit.join("; ")}: rename or remove its folder in tenants/`);
  return { directory: root, tenants };
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

/** Where a tenant's file stands, or would. */
export function tenantPath(directory: string, tenant: string): string {
  return join(directory, "tenants", tenant, "tenant.yaml");
}

/**
 * The tenant that a command means: the one it names, else `PMCTL_TENANT`, else the only one there is.
 *
 * @throws Fault NOT_FOUND when there is no such tenant, USAGE when none is named and the choice is not plain
 */
export function pickTenant({ directory, tenants }: Workspace, named?: string, fallback = defaultTenant()): string {
  const wanted = named ?? fallback;
  if (wanted !== undefined) {
    if (tenants.includes(wanted)) return wanted;
    const origin = named === undefined ? " (from PMCTL_TENANT)" : "";
    throw new Fault(
      "NOT_FOUND",
      `There is no tenant ${JSON.stringify(wanted)}${origin} in ${directory}; ${listing(tenants)}`,
    );
  }
  const [only, ...others] = tenants;
  if (only === undefined) throw new Fault("USAGE", `There are no tenants in ${directory}; \`pmctl init\` makes one`);
  if (others.length > 0)
    throw new Fault("USAGE", `Which tenant? Name one with -t or PMCTL_TENANT; ${listing(tenants)}`);
  return only;
}

function listing(tenants: readonly string[]): string {
  return tenants.length === 0 ? "there are none (`pmctl init` makes one)" : `there are: ${tenants.join(", ")}`;
}

function folderNames(directory: string): string[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
      .map(({ name }) => name)
      .toSorted();
  } catch (error) {
    if (isErrno(error) && (error.code === "ENOENT" || error.code === "ENOTDIR")) return [];
    throw error;
  }
}
