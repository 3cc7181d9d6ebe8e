import { ConfigError } from "../../config/config-error.ts";
import { openWorkspace, tenantPath } from "../../config/workspace.ts";
import type { CommandContext, Io } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import type { SelectorOptions } from "../input/selector-option.ts";
import { tenantsMeant } from "../input/tenants.ts";
import { annotationOf } from "../output/annotations.ts";

/**
 * Reads the files of the tenants that the line names or selects; of all tenants where it does neither.
 *
 * @param read returns what the command needs of a tenant's file
 * @throws ConfigError with the problems of all files, so that one run shows all of them
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

/** The outcome of work on several tenants. */
interface Done<Value> {
  /** Results of the tenants whose work succeeded. */
  values: Value[];
  /** The exit code when the work of a tenant failed: `partly` where other tenants succeeded. */
  failure: ExitCode | undefined;
}

/**
 * Does work for each target on its own: a failure is noted on stderr, and the other targets go on.
 *
 * @param about.not the work in the passive, such as `applied`, for the note "was not applied"
 * @param about.failed called for each failure
 * @throws the error of the work when there is only one target
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
