import { once } from "node:events";
import type { Command } from "commander";
import { commandPrefix } from "../../config/environment.ts";
import { commandHost } from "../../config/hosts.ts";
import { openWorkspace, type Workspace } from "../../config/workspace.ts";
import { type Survival, warningsOf } from "../../domain/durability.ts";
import type { CommandContext, Globals, Host } from "../command.ts";
import { USES_DATABASE } from "../errors.ts";
import { drainSeconds, portNumber } from "../input/parsers.ts";
import { oneTenant } from "../input/tenants.ts";
import type { View } from "../output/output.ts";
import { addShowOptions, type ShowOptions, showPage } from "./show-page.ts";

interface ServeOptions extends ShowOptions {
  port?: number;
  host?: string;
  opsPort?: number;
  opsHost?: string;
  drainSeconds?: number;
  https?: true;
  /** False with `--no-sweep`. */
  sweep: boolean;
}

export interface Served {
  tenant: string;
  pid: number;
  url: string;
  opsUrl: string;
  survives: Survival;
  warnings: string[];
}

export const servedView: View<Served, Served> = {
  kind: "record",
  fields: ({ tenant, url, opsUrl, survives }) => [
    ["tenant", tenant],
    ["API", url],
    ["documents", `${url}/docs`],
    ["market list", `${url}/embed/markets`],
    ["health, metrics", opsUrl],
    [
      "a change survives",
      survives === "machine" ? "the loss of a machine" : survives === "crash" ? "a crash" : "nothing",
    ],
  ],
};

export function register(noun: Command, host: Host): void {
  host.add<ServeOptions>(
    addShowOptions(
      noun
        .argument("[tenant]", "the tenant to serve")
        .option("--port <n>", "port of the API, instead of the file's; 0 takes any free one", portNumber)
        .option("--host <address>", "address to listen on, instead of the file's")
        .option("--ops-port <n>", "port of health checks and metrics, instead of the file's", portNumber)
        .option("--ops-host <address>", "address of health checks and metrics, instead of the file's")
        .option(
          "--drain-seconds <n>",
          "how long to go on serving after SIGTERM, with /readyz at 503, instead of the file's; a second signal ends it at once",
          drainSeconds,
        )
        .option(
          "--https",
          "speak TLS; without server.tls in the file, with a self-signed certificate of this directory",
        )
        .option("--no-sweep", "leave the oracle's sweep to other processes")
        .description("serve one tenant in the foreground; does not apply its file")
        // Runs before the process listens to signals, since a caught signal would be lost with the old program.
        .hook("preAction", replaceProcess),
    ),
    {
      names: "tenant pid url opsUrl survives warnings",
      ends: { ...USES_DATABASE, 8: "the audit log does not hold: the tenant is not served" },
    },
    runServe,
  );
}

/** Restarts the command in the same process with the heap size of a server. */
async function replaceProcess(command: Command): Promise<void> {
  const { heapOptions, limitHeap } = await import("../../app/serve/heap.ts");
  const workspace = openWorkspace();
  limitHeap(() =>
    heapOptions(workspace.directory, servedTenant(workspace, command.args, command.optsWithGlobals<Globals>())),
  );
}

function servedTenant(workspace: Workspace, args: readonly string[], { tenant }: Pick<Globals, "tenant">): string {
  return oneTenant(workspace, args[0] ?? tenant);
}

/** Serves until the first SIGINT or SIGTERM, then finishes running requests. */
async function runServe({ options, args, io, interrupts }: CommandContext<ServeOptions>): Promise<void> {
  const workspace = openWorkspace();
  const tenant = servedTenant(workspace, args, options);
  const { endStart } = await import("../../app/serve/heap.ts");
  const { readDeclaredTenant } = await import("../../app/tenant/operator-tenant.ts");
  const { readyTenant } = await import("../../app/tenant/tenant-database.ts");
  const { serveTenant } = await import("../../app/serve/tenant-server.ts");
  const { describeCertificate } = await import("../../app/serve/served-certificate.ts");
  const ready = await readyTenant(readDeclaredTenant(workspace.directory, tenant));
  const { port, host, opsPort, opsHost, drainSeconds, https, sweep } = options;
  const server = await serveTenant({
    ...ready,
    ...{ port, host, opsPort, opsHost, drainSeconds, https, sweep },
    // Until then a signal ends the process at once: it may be waiting for the database, and has taken no request.
    beforeListening: () => void interrupts.take(),
  });
  const stopped = interrupts.take();
  const { url, opsUrl, certificate } = server;
  if (certificate) io.output.note(describeCertificate(certificate, url, commandHost(ready.config)));
  const { database } = await server.readiness();
  const warnings = warningsOf(database);
  for (const warning of warnings) io.output.note(warning);
  endStart(server.answered);
  const survives = database?.survives ?? "none";
  await io.output.print({ tenant, pid: process.pid, url, opsUrl, survives, warnings }, servedView);
  await showPage({ url: `${url}/embed/markets`, host: host ?? ready.config.server.host }, options, io.output);
  if (!stopped.aborted) await once(stopped, "abort");
  io.output.note("Stopping: finishing what is under way");
  await interrupts.during((next) => server.drain(next));
  await server.close();
  if (ready.config.database === "embedded")
    io.output.note(`The embedded database is still running: ${commandPrefix()}pmctl db stop stops it`);
}
