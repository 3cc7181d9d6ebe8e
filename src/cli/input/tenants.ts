import { chooseTenants } from "../../config/selection/choose-tenants.ts";
import type { Workspace } from "../../config/workspace.ts";
import type { CommandContext } from "../command.ts";
import { namesIn, type SelectorOptions } from "./selector-option.ts";

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
