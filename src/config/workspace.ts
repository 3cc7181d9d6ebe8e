import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { Fault } from "../domain/fault.ts";
import { defaultTenant, isErrno } from "./environment.ts";
import { TenantId } from "./schema/scalars.ts";
import { DEMO_TENANT, demoRuns, PACKAGED_DEMO } from "./selection/running-demo.ts";

/** The operator's directory: `.env`, and `tenants/<id>/tenant.yaml` for each tenant. */
export interface Workspace {
  /** Absolute. */
  directory: string;
  /** The ids of its tenants, sorted. */
  tenants: string[];
}

/** What `-C` states; undefined where the line leaves the directory to be found. */
let stated: string | undefined;

/**
 * Takes over the operator's directory of the command line that this process runs. Paths on the line stay relative to the
 * current directory.
 *
 * @throws Fault USAGE when it is no directory
 */
export function stateDirectory(directory: string | undefined): void {
  stated = directory === undefined ? undefined : resolve(directory);
  if (stated !== undefined && !statSync(stated, { throwIfNoEntry: false })?.isDirectory())
    throw new Fault("USAGE", `-C ${directory} is not a directory`);
}

/** Where a new tenant's files are written: what `-C` states, else the current directory. */
export function newTenantsDirectory(): string {
  return stated ?? process.cwd();
}

/**
 * What `-C` states, else the nearest directory upwards that has tenants or a running demo, else the current one.
 *
 * Above the current directory a `tenants` folder counts only where it belongs to the owner of the current directory: in a
 * folder that everyone may write to, such as /tmp, it may be a stranger's.
 */
export function operatorDirectory(): string {
  if (stated !== undefined) return stated;
  const current = process.cwd();
  if (hasTenants(current)) return current;
  const owner = statSync(current).uid;
  for (let above = dirname(current), below = current; above !== below; below = above, above = dirname(above)) {
    const folder = [join(above, "tenants"), join(above, ".pmctl")].find(existsSync);
    if (folder !== undefined && hasTenants(above) && statSync(folder).uid === owner) return above;
  }
  return current;
}

function hasTenants(directory: string): boolean {
  return folderNames(join(directory, "tenants")).length > 0 || demoRuns(directory);
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
