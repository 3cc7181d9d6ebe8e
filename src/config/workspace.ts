import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { Fault } from "../domain/fault.ts";
import { defaultTenant, isErrno } from "./environment.ts";

/** The operator's directory: `.env`, and `tenants/<id>/tenant.yaml` for each tenant. */
export interface Workspace {
  /** Absolute. */
  directory: string;
  /** The ids of its tenants, sorted. */
  tenants: string[];
}

/** Looks for tenants in a directory; finding none is no error until one is needed. */
export function openWorkspace(directory: string = process.cwd()): Workspace {
  const root = resolve(directory);
  return {
    directory: root,
    tenants: folderNames(join(root, "tenants")).filter((id) => existsSync(tenantPath(root, id))),
  };
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
