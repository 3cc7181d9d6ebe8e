import { once } from "node:events";
import { availableParallelism } from "node:os";
import { type Command, InvalidArgumentError, Option } from "commander";
import type { Supervised } from "../../app/serve/supervisor.ts";
import { isPattern, labelsOf, tenantsNamed } from "../../config/selection/choose-tenants.ts";
import { parseSelector, type Selector, SelectorError, selects } from "../../config/selection/selector.ts";
import type { Workspace } from "../../config/workspace.ts";
import { Fault } from "../../domain/fault.ts";
import type { CommandContext } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import { count, portNumber } from "../input/parsers.ts";
import type { View } from "../output/output.ts";

export interface HouseFlags {
  /** True where no number is given. */
  workers?: number | true;
  host?: string;
  port?: number;
  opsPort?: number;
  opsHost?: string;
  idleSeconds?: number;
  drainSeconds?: number;
  https?: true;
  connections?: number;
  isolate?: string[];
}

/** The tenants of a directory, by how they are served. */
export interface Residence {
  inHouse: readonly string[];
  /** In processes of their own. */
  isolated: readonly string[];
  /** Starts those. */
  begin(): Promise<Supervised[]>;
}

interface Housed {
  url: string;
  opsUrl: string;
  workers: number;
  tenants: number;
  pid: number;
}

export const HOUSE_FIELDS = "workers tenants";
const DEFAULT_PORT = 8080;
const DEFAULT_OPS_PORT = 9464;
const DEFAULT_IDLE_SECONDS = 300;
const DEFAULT_CONNECTIONS = 80;
/** Of one worker: those of one open tenant. */
const FEWEST_CONNECTIONS = 4;
const MOST_WORKERS = 256;

/** @param isolated how many of the tenants have a process of their own */
const viewWith = (isolated: number): View<Housed, Housed> => ({
  kind: "record",
  fields: ({ url, opsUrl, workers, tenants }) => [
    ["API", url],
    ["health, metrics", opsUrl],
    ["tenants", `${tenants - isolated}, by ${workers} ${workers === 1 ? "process" : "processes"}`],
    ...(isolated === 0 ? [] : [["isolated", `${isolated}, each by its own process on the ports of its file`] as const]),
  ],
});

/** The options of `up` that count only with `--workers`. */
export function addHouseOptions(noun: Command): void {
  noun
    .addOption(
      new Option(
        "--workers [n]",
        "serve all tenants on one port by so many processes, the number of cores unless given; requests find their tenant by host",
      ).argParser(workerCount),
    )
    .option(
      "--port <n>",
      `with --workers: port of all tenants, ${DEFAULT_PORT} unless given; 0 takes any free one`,
      portNumber,
    )
    .option(
      "--ops-port <n>",
      `with --workers: port of health checks and metrics, ${DEFAULT_OPS_PORT} unless given`,
      portNumber,
    )
    .option(
      "--idle-seconds <n>",
      `with --workers: close a tenant that was not asked for so long, ${DEFAULT_IDLE_SECONDS} unless given`,
      count,
    )
    .option(
      "--connections <n>",
      `with --workers: most connections to one database server in all, ${DEFAULT_CONNECTIONS} unless given`,
      count,
    )
    .option(
      "--isolate <selector>",
      "with --workers: tenants that get a process of their own on the ports of their files: a name, a pattern or labels",
      (text: string, before: string[] = []) => [...before, text],
    )
    // How the house starts its processes.
    .addOption(new Option("--as-worker", "serve as a process of the house that started this one").hideHelp());
}

const ONLY_WITH_WORKERS = {
  port: "--port",
  opsPort: "--ops-port",
  idleSeconds: "--idle-seconds",
  connections: "--connections",
  isolate: "--isolate",
} as const;

/** @throws Fault USAGE for an option that has no meaning without `--workers` */
export function requireHouse(options: HouseFlags): void {
  for (const [name, flag] of Object.entries(ONLY_WITH_WORKERS))
    if (name in options)
      throw new Fault("USAGE", `${flag} needs --workers: without it each tenant has the ports of its file`);
}

/**
 * The tenants that a list of selectors means, each the name of a tenant, a pattern of names, or labels.
 * @throws Fault NOT_FOUND where one selects nothing, USAGE where it can be none of them; ConfigError for labels that cannot be read
 */
export function tenantsIsolated(
  workspace: Workspace,
  tenants: readonly string[],
  selectors: readonly string[],
): string[] {
  const meant = selectors.flatMap((text) => {
    const found =
      workspace.tenants.includes(text) || isPattern(text)
        ? tenantsNamed(workspace, text)
        : labelled(workspace, tenants, text);
    const own = found.filter((tenant) => tenants.includes(tenant));
    if (own.length === 0) throw new Fault("NOT_FOUND", `--isolate ${text} selects none of the tenants that are served`);
    return own;
  });
  return tenants.filter((tenant) => meant.includes(tenant));
}

function labelled(workspace: Workspace, tenants: readonly string[], text: string): string[] {
  const labels = labelsOf(workspace, tenants);
  const selector = selectorOf(text);
  return tenants.filter((tenant) => selects(selector, labels.get(tenant) ?? {}));
}

function selectorOf(text: string): Selector {
  try {
    return parseSelector(text);
  } catch (error) {
    if (error instanceof SelectorError) throw new Fault("USAGE", `--isolate: at ${error.message}`);
    throw error;
  }
}

/** Runs until the first SIGINT or SIGTERM, then finishes what is under way. */
export async function runHouse(
  { options, io, interrupts }: CommandContext<HouseFlags>,
  { directory }: Workspace,
  { inHouse, isolated, begin }: Residence,
  passedOn: readonly string[],
): Promise<ExitCode> {
  const { output } = io;
  const asked = interrupts.take();
  const { openHouse } = await import("../../app/house/house.ts");
  const { heapEnvironment, sharedHeapOptions } = await import("../../app/serve/heap.ts");
  const workers = typeof options.workers === "number" ? options.workers : availableParallelism();
  const connections = options.connections ?? DEFAULT_CONNECTIONS;
  if (connections < workers * FEWEST_CONNECTIONS)
    throw new Fault("USAGE", `--connections must be at least ${FEWEST_CONNECTIONS} for each of ${workers} workers`);
  const house = await openHouse({
    https: options.https === true,
    connections,
    directory,
    tenants: inHouse,
    workers,
    host: options.host ?? "127.0.0.1",
    port: options.port ?? DEFAULT_PORT,
    opsHost: options.opsHost ?? "127.0.0.1",
    opsPort: options.opsPort ?? DEFAULT_OPS_PORT,
    idleSeconds: options.idleSeconds ?? DEFAULT_IDLE_SECONDS,
    drainSeconds: options.drainSeconds,
    process: (worker) => ({
      // The program that this process itself runs.
      args: () => [
        ...sharedHeapOptions(),
        ...process.execArgv,
        ...process.argv.slice(1, 2),
        ...["up", directory, "--as-worker", "-o", "ndjson"],
        ...passedOn,
      ],
      environment: heapEnvironment(),
      onLine: (_, line) => output.relay(`worker ${worker} | ${line}`),
      onProblem: (problem) => output.relay(`worker ${worker} ${problem}`),
      onRestart: (ending, pauseMs) =>
        output.relay(`worker ${worker} ended (${ending}); starting it again in ${pauseMs / 1000} s`),
    }),
    onError: (error) => output.relay(`The listener failed: ${error.message}`),
    onNote: (line) => output.relay(line),
  });
  const servers = await begin();
  const { url, opsUrl } = house;
  const tenants = inHouse.length + isolated.length;
  await output.print({ url, opsUrl, workers, tenants, pid: process.pid }, viewWith(isolated.length));
  if (!asked.aborted) await once(asked, "abort");
  output.note("Stopping: the workers finish what is under way");
  let clean = true;
  await interrupts.during(async (next) => {
    next.addEventListener("abort", () => {
      for (const server of servers) server.hurry();
    });
    const stopped = servers.map((server) => server.stop());
    await house.drain(next);
    clean = (await Promise.all([house.close(), ...stopped])).every(Boolean);
  });
  if (clean) return interrupts.exitCode;
  output.relay("A process did not end in time and was killed");
  return EXIT.unexpected;
}

/** The work of a process that the house has started. */
export async function runAsWorker({ interrupts }: Pick<CommandContext<HouseFlags>, "interrupts">): Promise<void> {
  const stopped = interrupts.take();
  const { runWorker } = await import("../../app/house/run-worker.ts");
  await runWorker(stopped);
}

function workerCount(value: string): number {
  const number = count(value);
  if (number > MOST_WORKERS) throw new InvalidArgumentError(`It must be at most ${MOST_WORKERS}.`);
  return number;
}
