import { ConfigError } from "../../config/config-error.ts";
import { openWorkspace, tenantPath } from "../../config/workspace.ts";
import type { CommandContext, Io } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import type { SelectorOptions } from "../input/selector-option.ts";
import { tenantsMeant } from "../input/tenants.ts";
import { annotationOf } from "../output/annotations.ts";

/**
 * Reads the files of the tenants that a command means; all of the directory unless it names or selects any.
 *
 * @param read gives what the command wants of a tenant's file
 * @throws ConfigError with the problems of all files, so that one run shows every one
 */
export function eachTenant<Value>(
  context: Pick<CommandContext<SelectorOptions>, "options" | "args">,
  read: (file: string, tenant: string) => Value,
): Value[] {
  const workspace = openWorkspace();
  const values: Value[] = [];
  const problems: ConfigError["problems"][number][] = [];
  for (const tenant of tenantsMeant(workspace, context, "all")) {
    try {
      values.push(read(tenantPath(workspace.directory, tenant), tenant));
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return values;
}

/** What came of work on several tenants. */
interface Done<Value> {
  /** Of the tenants whose work succeeded. */
  values: Value[];
  /** What the command ends with when the work of a tenant failed: `partly` beside others that succeeded. */
  failure: ExitCode | undefined;
}

/**
 * Does something with each target on its own: one that fails is told on stderr and does not hide the others.
 *
 * @param about.not what was not done to a tenant, such as `applied`
 * @param about.failed called for each failure
 * @throws whatever the work of the only target throws
 */
export async function oneByOne<Target extends { tenant: string }, Value>(
  targets: readonly Target[],
  {
    output,
    not,
    failed = () => {},
  }: Pick<Io, "output"> & { not: string; failed?: (tenant: string, error: unknown) => void },
  work: (target: Target) => Promise<Value>,
): Promise<Done<Value>> {
  const values: Value[] = [];
  const failures: ExitCode[] = [];
  for (const target of targets) {
    try {
      values.push(await work(target));
    } catch (error) {
      failed(target.tenant, error);
      if (targets.length === 1) {
        if (error instanceof ConfigError) await output.annotate(error.problems.map(annotationOf));
        throw error;
      }
      output.note(`${target.tenant}: was not ${not}:`);
      failures.push(output.fail(error, target.tenant));
    }
  }
  return { values, failure: values.length > 0 && failures.length > 0 ? EXIT.partly : failures[0] };
}
