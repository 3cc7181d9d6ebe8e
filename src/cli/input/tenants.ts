import { chooseTenants } from "../../config/selection/choose-tenants.ts";
import type { Selector } from "../../config/selection/selector.ts";
import { openWorkspace, type Workspace } from "../../config/workspace.ts";
import { Fault } from "../../domain/fault.ts";
import type { Action, CommandContext } from "../command.ts";
import { EXIT, type ExitCode, Interrupted } from "../errors.ts";
import type { OutputOptions } from "../output/output.ts";
import { isRead, type Prints } from "../output/prints.ts";
import { printTogether, TenantOutput } from "../output/tenant-output.ts";
import { namesIn, type SelectorOptions } from "./selector-option.ts";

/** Each tenant takes a few connections of a database, which it may share with the others. */
const TENANTS_AT_ONCE = 8;

/**
 * Reads from several tenants, a few at a time, since most of the work is waiting.
 *
 * @returns the results in the order of the tenants
 */
export async function readEach<Tenant, Value>(
  tenants: readonly Tenant[],
  read: (tenant: Tenant) => Promise<Value>,
): Promise<Value[]> {
  const { default: pMap } = await import("p-map");
  return pMap(tenants, read, { concurrency: TENANTS_AT_ONCE });
}

/**
 * The one tenant that a name, a pattern or a list means; without any, the only tenant.
 * @throws as {@link chooseTenants}; Fault USAGE naming them when there are several
 */
export function oneTenant(workspace: Workspace, named: string | undefined): string {
  const tenants = chooseTenants(workspace, { names: namesIn(named === undefined ? [] : [named]) }, "only");
  const [only = "", ...others] = tenants;
  if (others.length > 0) throw tooMany(tenants);
  return only;
}

function tooMany(tenants: readonly string[]): Fault {
  return new Fault("USAGE", `This command takes one tenant; the line means several: ${tenants.join(", ")}`);
}

/**
 * The tenants of a command line: its arguments, else `--tenant`; only those that `--selector` selects.
 *
 * @param unnamed the tenants of a line that names none
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

/**
 * Runs a command once for each tenant of the line, and prints the results together. A failure does not hide the other
 * tenants.
 *
 * @returns 10 when some tenants failed; the first one's exit code when all failed
 * @throws Fault USAGE when the line means several tenants and the command changes something; NOT_FOUND for none
 */
export async function forEachTenant<Options extends object>(
  context: CommandContext<Options>,
  prints: Prints | null,
  outputOptions: OutputOptions,
  work: Action<Options>,
): Promise<ExitCode> {
  const tenants = tenantsOf(context.options);
  const [first = "", ...others] = tenants;
  if (!isRead(prints, context.options)) {
    if (others.length > 0) throw tooMany(tenants);
    return (await work({ ...context, options: { ...context.options, tenant: first } })) ?? EXIT.ok;
  }
  if (context.options.url !== undefined && others.length > 0)
    throw new Fault("USAGE", "--url is the address of one tenant's server: name one tenant, or leave out --url");
  const outputs = tenants.map((tenant) => ({ tenant, output: new TenantOutput(outputOptions, tenant) }));
  const exits = await readEach(outputs, ({ tenant, output }) =>
    ended(work({ ...context, options: { ...context.options, tenant }, io: { ...context.io, output } }), output),
  );
  await printTogether(
    outputs.flatMap(({ output }) => output.results),
    outputOptions,
  );
  const failed = exits.filter((exit) => exit !== EXIT.ok);
  return failed.length > 0 && failed.length < exits.length ? EXIT.partly : (failed[0] ?? EXIT.ok);
}

async function ended(work: ReturnType<Action<object>>, output: TenantOutput): Promise<ExitCode> {
  try {
    return (await work) ?? EXIT.ok;
  } catch (error) {
    if (error instanceof Interrupted) throw error;
    return output.fail(error);
  }
}

function tenantsOf({ tenant, selector }: { tenant?: string | undefined; selector?: Selector | undefined }): string[] {
  const workspace = openWorkspace();
  const names = namesIn(tenant === undefined ? [] : [tenant]);
  const tenants = chooseTenants(workspace, { names, selector }, "all");
  if (tenants.length > 0) return tenants;
  throw new Fault("USAGE", `There are no tenants in ${workspace.directory}; \`pmctl init\` creates one`);
}
