import { once } from "node:events";
import type { Command } from "commander";
import type { Workspace } from "../../config/workspace.ts";
import { Fault } from "../../domain/fault.ts";
import type { CommandContext } from "../command.ts";
import type { ExitCode } from "../errors.ts";
import { count, portNumber } from "../input/parsers.ts";
import type { View } from "../output/output.ts";

export interface SharedFlags {
  shared?: true;
  host?: string;
  port?: number;
  opsPort?: number;
  opsHost?: string;
  idleSeconds?: number;
  drainSeconds?: number;
  https?: true;
  connections?: number;
  /** False with `--no-sweep`. */
  sweep?: boolean;
}

interface SharedServed {
  url: string;
  opsUrl: string;
  tenants: number;
  pid: number;
}

const DEFAULTS = { port: 8080, opsPort: 9464, idleSeconds: 300, connections: 80 } as const;
/** The connections that one tenant uses at a time, and the reserve for scheduled work. */
const FEWEST_CONNECTIONS = 8;

const sharedView: View<SharedServed, SharedServed> = {
  kind: "record",
  fields: ({ url, opsUrl, tenants }) => [
    ["API", url],
    ["health, metrics", opsUrl],
    ["tenants", String(tenants)],
  ],
};

/** The options of `up` that need `--shared`. */
export function addSharedOptions(noun: Command): void {
  const { port, opsPort, idleSeconds, connections } = DEFAULTS;
  noun
    .option("--shared", "serve all tenants in one process and on one port; the request's host selects the tenant")
    .option("--port <n>", `with --shared: port of all tenants; 0 takes any free one (default: ${port})`, portNumber)
    .option("--ops-port <n>", `with --shared: port of health checks and metrics (default: ${opsPort})`, portNumber)
    .option(
      "--idle-seconds <n>",
      `with --shared: close a tenant after this time without a request (default: ${idleSeconds})`,
      count,
    )
    .option(
      "--connections <n>",
      `with --shared: most connections to one database server (default: ${connections})`,
      count,
    );
}

const ONLY_SHARED = {
  port: "--port",
  opsPort: "--ops-port",
  idleSeconds: "--idle-seconds",
  connections: "--connections",
} as const;

/** @throws Fault USAGE for an option that needs `--shared` where it is absent */
export function requireShared(options: SharedFlags): void {
  for (const [name, flag] of Object.entries(ONLY_SHARED))
    if (name in options)
      throw new Fault("USAGE", `${flag} needs --shared: without it each tenant has the ports of its file`);
}

/** Serves the tenants until the first SIGINT or SIGTERM, then finishes running requests. */
export async function runShared(
  { options, io: { output }, interrupts }: CommandContext<SharedFlags>,
  { directory }: Workspace,
  tenants: readonly string[],
): Promise<ExitCode> {
  const stopped = interrupts.take();
  const { openSharedServer } = await import("../../app/shared/shared-server.ts");
  const { endStart } = await import("../../app/serve/heap.ts");
  const { port, opsPort, idleSeconds, connections } = { ...DEFAULTS, ...options };
  if (connections < FEWEST_CONNECTIONS)
    throw new Fault("USAGE", `--connections must be at least ${FEWEST_CONNECTIONS}`);
  const server = await openSharedServer({
    ...{ directory, tenants, port, opsPort, idleSeconds, connections },
    host: options.host ?? "127.0.0.1",
    opsHost: options.opsHost ?? "127.0.0.1",
    https: options.https === true,
    drainSeconds: options.drainSeconds,
    sweep: options.sweep,
    onNote: (line) => output.relay(line),
  });
  endStart(server.answered);
  const { url, opsUrl } = server;
  await output.print({ url, opsUrl, tenants: tenants.length, pid: process.pid }, sharedView);
  if (!stopped.aborted) await once(stopped, "abort");
  output.note("Stopping: finishing what is under way");
  await interrupts.during((next) => server.drain(next));
  await server.close();
  return interrupts.exitCode;
}
