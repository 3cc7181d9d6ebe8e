import { once } from "node:events";
import { Command, type Option } from "commander";
import { RESTART_POLICY, Supervised } from "../../app/serve/supervisor.ts";
import { loadTenantFile } from "../../config/tenant-file.ts";
import { openWorkspace, tenantPath, type Workspace } from "../../config/workspace.ts";
import { Fault } from "../../domain/fault.ts";
import { isMapping } from "../../domain/json/mapping.ts";
import { SECOND_MS } from "../../domain/time/units.ts";
import type { CommandContext, Host } from "../command.ts";
import { EXIT, type ExitCode, USES_DATABASE } from "../errors.ts";
import { type SelectorOptions, selectorOption } from "../input/selector-option.ts";
import { tenantsMeant } from "../input/tenants.ts";
import type { Output } from "../output/output.ts";
import { register as registerServe, type Served, servedView } from "./serve.ts";
import { addSharedOptions, requireShared, runShared, type SharedFlags } from "./up-shared.ts";

type UpOptions = Readonly<Record<string, unknown>> & SelectorOptions & SharedFlags;

/** Ports are per tenant, in its file; and one browser or code per tenant would flood the terminal. */
const NOT_OF_SERVE = ["port", "opsPort", "open", "qr"];

export function register(noun: Command, host: Host): void {
  noun
    .argument("[dir]", "the operator's directory (default: this one)")
    .description(
      "serve every tenant of a directory, each in its own process, which is restarted when it ends; with --shared all in one",
    );
  const serveOptions = optionsOfServe(host);
  for (const option of serveOptions) noun.addOption(option);
  noun.addOption(selectorOption());
  addSharedOptions(noun);
  // Runs before the process listens to signals, since a caught signal would be lost with the old program.
  noun.hook("preAction", async (command) => {
    if (!command.opts<SharedFlags>().shared) return;
    const { limitHeap, sharedHeapOptions } = await import("../../app/serve/heap.ts");
    limitHeap(sharedHeapOptions);
  });
  host.add<UpOptions>(
    noun,
    {
      names: "tenant pid url opsUrl survives warnings tenants",
      ends: { ...USES_DATABASE, 1: "a server did not end in time and was killed" },
    },
    (context) => runUp(context, serveOptions),
  );
}

/** Options of `serve` that apply to every tenant. */
function optionsOfServe(host: Host): Option[] {
  const serve = new Command("serve");
  registerServe(serve, host);
  return serve.options.filter((option) => !NOT_OF_SERVE.includes(option.attributeName()));
}

/** Runs until the first SIGINT or SIGTERM, then stops every server. */
async function runUp(context: CommandContext<UpOptions>, serveOptions: readonly Option[]): Promise<ExitCode> {
  const { options, args, io, interrupts } = context;
  const { output } = io;
  const workspace = openWorkspace(args[0]);
  const tenants = tenantsMeant(workspace, { options, args: [] }, "all");
  if (tenants.length === 0)
    throw new Fault("USAGE", `There are no tenants in ${workspace.directory}; \`pmctl init\` creates one`);
  if (options.shared) return runShared(context, workspace, tenants);
  requireShared(options);
  const passedOn = [...serveArguments(options, serveOptions), ...(options.quiet ? ["--quiet"] : [])];
  const asked = interrupts.take();
  const servers = await superviseServers(workspace, tenants, options, output, passedOn);
  if (!asked.aborted) await once(asked, "abort");
  output.note("Stopping: the servers finish what is under way");
  const stopping = Promise.all(servers.map((server) => server.stop()));
  await interrupts.during(async (next) => {
    next.addEventListener("abort", () => {
      for (const server of servers) server.hurry();
    });
    await stopping;
  });
  const clean = await stopping;
  const killed = tenants.filter((_, index) => !clean[index]);
  if (killed.length === 0) return interrupts.exitCode;
  output.relay(`These servers did not end in time and were killed: ${killed.join(", ")}`);
  return EXIT.unexpected;
}

async function superviseServers(
  workspace: Workspace,
  tenants: readonly string[],
  options: UpOptions,
  output: Output,
  passedOn: readonly string[],
): Promise<Supervised[]> {
  const { heapEnvironment, heapOptions } = await import("../../app/serve/heap.ts");
  const width = Math.max(...tenants.map((tenant) => tenant.length));
  return tenants.map(
    (tenant) =>
      new Supervised({
        // The program of this process.
        args: () => [
          ...heapOptions(workspace.directory, tenant),
          ...process.execArgv,
          ...process.argv.slice(1, 2),
          "serve",
          tenant,
          "-o",
          "ndjson",
          ...passedOn,
        ],
        environment: heapEnvironment(),
        directory: workspace.directory,
        policy: {
          ...RESTART_POLICY,
          stopMs: RESTART_POLICY.stopMs + drainSecondsOf(workspace.directory, tenant, options) * SECOND_MS,
        },
        ...report(tenant, `${tenant.padEnd(width)} | `, output),
      }),
  );
}

/** A tenant file that cannot be read counts as one that states nothing: the tenant's server reports the problem. */
function drainSecondsOf(directory: string, tenant: string, { drainSeconds }: UpOptions): number {
  if (typeof drainSeconds === "number") return drainSeconds;
  try {
    return loadTenantFile(tenantPath(directory, tenant)).server.drainSeconds;
  } catch (error) {
    if (error instanceof Fault) return 0;
    throw error;
  }
}

function report(
  tenant: string,
  prefix: string,
  output: Output,
): Pick<ConstructorParameters<typeof Supervised>[0], "onLine" | "onRestart"> {
  return {
    onLine(stream, line) {
      const served = stream === "stdout" ? parseServed(line) : undefined;
      if (served) void output.print(served, servedView);
      else for (const each of sentenceOf(line).split("\n")) output.relay(prefix + each);
    },
    onRestart(ending, pauseMs) {
      output.relay(`${prefix}the server of ${tenant} ended (${ending}); starting it again in ${pauseMs / 1000} s`);
    },
  };
}

function parseServed(line: string): Served | undefined {
  const value = parseObject(line);
  return value && "url" in value ? (value as unknown as Served) : undefined;
}

/** A server's last error arrives as JSON: people read its message. Log entries stay as they are. */
function sentenceOf(line: string): string {
  const value = parseObject(line);
  return value && "code" in value && typeof value.error === "string" ? value.error : line;
}

function parseObject(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isMapping(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function serveArguments(options: UpOptions, shared: readonly Option[]): string[] {
  return shared.flatMap((option) => {
    const value = options[option.attributeName()];
    const flag = option.long ?? "";
    if (option.negate) return value === false ? [flag] : [];
    if (value === undefined || value === false) return [];
    return value === true ? [flag] : [flag, String(value)];
  });
}
