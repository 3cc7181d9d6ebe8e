import { Fault } from "../../domain/fault.ts";
import { ConfigError, type Problem } from "../config-error.ts";
import { readLabels } from "../tenant-file.ts";
import { matcher } from "../wildcards.ts";
import { pickTenant, tenantPath, type Workspace } from "../workspace.ts";
import { type Labels, type Selector, selects } from "./selector.ts";

/** The tenants that a command line names; with a selector, those among them that it selects. */
export interface TenantChoice {
  /** Ids, or patterns with `*` and `?`. */
  names: readonly string[];
  selector?: Selector | undefined;
}

/**
 * The tenants of a command, each once.
 *
 * @param unnamed the tenants of a command without names and selector: every tenant of the directory, or the only one
 * @throws Fault NOT_FOUND if nothing is selected, USAGE if the only tenant is wanted and there are several; ConfigError
 * if a selector needs unreadable labels, because a change might miss a tenant or reach a wrong one
 */
export function chooseTenants(
  workspace: Workspace,
  { names, selector }: TenantChoice,
  unnamed: "all" | "only",
): string[] {
  const isNamed = names.length > 0;
  if (!isNamed && !selector) return unnamed === "all" ? workspace.tenants : [pickTenant(workspace)];
  const named = isNamed ? [...new Set(names.flatMap((name) => tenantsNamed(workspace, name)))] : workspace.tenants;
  if (!selector) return named;
  const labels = labelsOf(workspace, named);
  const chosen = named.filter((tenant) => selects(selector, labels.get(tenant) ?? {}));
  if (chosen.length === 0)
    throw new Fault("NOT_FOUND", `The selector selects no tenant; \`pmctl tenant list\` shows their labels`);
  return chosen;
}

/**
 * The tenants with a name, or matching a pattern with `*` and `?`.
 *
 * @throws Fault NOT_FOUND if there is none
 */
export function tenantsNamed(workspace: Workspace, name: string): string[] {
  if (!isPattern(name)) return [pickTenant(workspace, name)];
  const fitting = workspace.tenants.filter(namedBy(name));
  if (fitting.length === 0)
    throw new Fault("NOT_FOUND", `No tenant in ${workspace.directory} matches ${JSON.stringify(name)}`);
  return fitting;
}

/** Whether a name is a pattern for several tenants. */
export function isPattern(name: string): boolean {
  return /^[a-z0-9?*-]*[?*][a-z0-9?*-]*$/.test(name);
}

/** A function that tells whether a tenant has a name, or matches a pattern. */
export function namedBy(name: string): (tenant: string) => boolean {
  return isPattern(name) ? matcher(name) : (tenant) => tenant === name;
}

/** @throws ConfigError with the problems of all files with unreadable labels */
export function labelsOf({ directory }: Workspace, tenants: readonly string[]): Map<string, Labels> {
  const labels = new Map<string, Labels>();
  const problems: Problem[] = [];
  for (const tenant of tenants) {
    try {
      labels.set(tenant, readLabels(tenantPath(directory, tenant)));
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return labels;
}
