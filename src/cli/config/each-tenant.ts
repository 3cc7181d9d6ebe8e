import { ConfigError } from "../../config/config-error.ts";
import { openWorkspace, pickTenant, tenantPath } from "../../config/workspace.ts";
import type { CommandContext } from "../command.ts";

/**
 * Reads the files of the tenants that a command names; all of the directory unless it names any.
 *
 * @param read gives what the command wants of a tenant's file
 * @throws ConfigError with the problems of all files, so that one run shows every one
 */
export function eachTenant<Value>(
  { options, args }: Pick<CommandContext<object>, "options" | "args">,
  read: (file: string) => Value,
): Value[] {
  const workspace = openWorkspace();
  const named = args.length > 0 ? args : options.tenant === undefined ? workspace.tenants : [options.tenant];
  const values: Value[] = [];
  const problems: ConfigError["problems"][number][] = [];
  for (const name of named) {
    const tenant = pickTenant(workspace, name);
    try {
      values.push(read(tenantPath(workspace.directory, tenant)));
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return values;
}
