import { chooseTenants } from "../../config/selection/choose-tenants.ts";
import type { Workspace } from "../../config/workspace.ts";
import { Fault } from "../../domain/fault.ts";
import type { CommandContext } from "../command.ts";
import { namesIn, type SelectorOptions } from "./selector-option.ts";

/** Each takes a few connections of a database that it may share with the others. */
const TENANTS_AT_ONCE = 8;

/**
 * Reads something of each of several tenants, some at a time, since most of it is waiting.
 *
 * @returns what was read, in the order of the tenants
 */
export async function readEach<Tenant, Value>(
  tenants: readonly Tenant[],
  read: (tenant: Tenant) => Promise<Value>,
): Promise<Value[]> {
  const { default: pMap } = await import("p-map");
  return pMap(tenants, read, { concurrency: TENANTS_AT_ONCE });
}

/**
 * The one tenant that a name, a pattern or a list means; the only one there is without any.
 * @throws as {@link chooseTenants}; Fault USAGE naming them where it means several
 */
export function oneTenant(workspace: Workspace, named: string | undefined): string {
  const tenants = chooseTenants(workspace, { names: namesIn(named === undefined ? [] : [named]) }, "only");
  const [only = "", ...others] = tenants;
  if (others.length > 0) throw tooMany(tenants);
  return only;
}

export function tooMany(tenants: readonly string[]): Fault {
  return new Fault("USAGE", `This takes one tenant at a time; these are meant: ${tenants.join(", ")}`);
}

/**
 * The tenants that a command line means: its arguments, else `--tenant`; of these the ones that `--selector` selects.
 *
 * @param unnamed what is meant without any of them
 * @throws as {@link chooseTenants}
 */
export function tenantsMeant(
  workspace: Workspace,
  { options: { tenant, selector, all }, args }: Pick<CommandContext<SelectorOptions>, "options" | "args">,
  unnamed: "all" | "only",
): string[] {
  const named = tenant === undefined ? [] : [tenant];
  const names = namesIn(args.length > 0 ? args : named);
  return chooseTenants(workspace, { names: all ? [] : names, selector }, all ? "all" : unnamed);
}
