import { chooseTenants } from "../../config/selection/choose-tenants.ts";
import type { Selector } from "../../config/selection/selector.ts";
import { openWorkspace, type Workspace } from "../../config/workspace.ts";
import { Fault } from "../../domain/fault.ts";
import type { Action, CommandContext } from "../command.ts";
import { EXIT, type ExitCode, Interrupted } from "../errors.ts";
import { isRead, type Prints } from "../output/fields.ts";
import type { OutputOptions } from "../output/output.ts";
import { printTogether, TenantOutput } from "../output/tenant-output.ts";
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

function tooMany(tenants: readonly string[]): Fault {
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

/**
 * Runs a command once for each tenant that the line means, and prints their results together. A tenant that fails does not
 * hide the others.
 *
 * @returns 10 when some failed, and when all did what the first one ended with
 * @throws Fault USAGE when several are meant and the command changes one thing; NOT_FOUND when none is
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
    throw new Fault("USAGE", "--url is the address of one tenant's server: name one tenant, or leave --url out");
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
  throw new Fault("USAGE", `There are no tenants in ${workspace.directory}; \`pmctl init\` makes one`);
}
