import type { Command } from "commander";
import { Fault } from "../../domain/fault.ts";
import type { Cluster, ClusterStatus } from "../../postgres/embedded/cluster.ts";
import type { Host, Io } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import type { View } from "../output/output.ts";
import { registerBackup } from "./db-backup.ts";

export interface ClusterOptions {
  cluster: Cluster;
  /** The database that `url` names. */
  database: string;
  /** Whether the end of a start or a stop says enough: `--quiet`, and no format was asked for. */
  silent?: boolean;
}

interface Migrated {
  tenant: string;
  /** The migrations that this run applied. */
  applied: string[];
}

export function register(noun: Command, host: Host): void {
  const verbs = [
    ["start", "start the directory's database server, creating it on first use", runDbStart],
    ["stop", "stop it; nothing starts it again but `db start` or a command that needs it", runDbStop],
    ["status", "whether it runs, and how to connect", runDbStatus],
  ] as const;
  for (const [verb, summary, run] of verbs)
    host.add(
      noun.command(verb).description(summary),
      { names: "running dataDir host port url version" },
      async ({ options, io }) => {
        const silent = options.quiet === true && options.output === undefined;
        return run({ ...(await openCluster(options.tenant)), silent }, io);
      },
    );
  host.add(
    noun.command("migrate").description("bring a tenant's schema to the version of this pmctl"),
    { names: "tenant applied" },
    ({ options, io }) => runDbMigrate(options, io),
  );
  host.add(
    noun.command("shell").description("psql on a tenant's database, as its owner; reads SQL from stdin in a pipe"),
    null,
    async ({ options }) => {
      const { runDbShell } = await import("./psql.ts");
      return runDbShell(options);
    },
  );
  registerBackup(noun, host);
}

const statusView: View<ClusterStatus, ClusterStatus> = {
  kind: "record",
  fields: ({ running, dataDir, host, port, url, version }) => [
    ["running", running ? "yes" : "no"],
    ["data", dataDir],
    ["socket", host],
    ["port", String(port)],
    ["url", url],
    ["version", version],
  ],
};

const migratedView: View<Migrated, Migrated> = {
  kind: "record",
  fields: ({ tenant, applied }) => [
    ["tenant", tenant],
    ["applied", applied.length === 0 ? "nothing to do" : applied.join(", ")],
  ],
};

export async function runDbStart({ cluster, database, silent }: ClusterOptions, { output }: Io): Promise<ExitCode> {
  await cluster.start();
  if (!silent) await output.print(await cluster.status(database), statusView);
  return EXIT.ok;
}

export async function runDbStop({ cluster, database, silent }: ClusterOptions, { output }: Io): Promise<ExitCode> {
  const stopped = await cluster.stop();
  if (!silent) await output.print(await cluster.status(database), statusView);
  output.note(stopped ? "The database server was stopped." : "The database server was not running.");
  return EXIT.ok;
}

export async function runDbStatus({ cluster, database }: ClusterOptions, { output }: Io): Promise<ExitCode> {
  await output.print(await cluster.status(database), statusView);
  return EXIT.ok;
}

export async function runDbMigrate(options: { tenant?: string | undefined }, { output }: Io): Promise<ExitCode> {
  const { openTenantDatabase } = await import("../../app/tenant/tenant-database.ts");
  const { prepareDatabase } = await import("../../services/tenant/provision.ts");
  const { tenant, ...database } = await openTenantDatabase(options.tenant);
  await output.print({ tenant, applied: await prepareDatabase(database) }, migratedView);
  return EXIT.ok;
}

/** The cluster belongs to the directory, so no tenant is needed; when it is plain which one is meant, `url` is its. */
async function openCluster(named: string | undefined): Promise<ClusterOptions> {
  const { openWorkspace, pickTenant } = await import("../../config/workspace.ts");
  const { embeddedCluster } = await import("../../postgres/embedded/cluster.ts");
  const workspace = openWorkspace();
  const cluster = embeddedCluster(workspace.directory);
  try {
    return { cluster, database: pickTenant(workspace, named) };
  } catch (error) {
    if (error instanceof Fault && error.code === "USAGE") return { cluster, database: "postgres" };
    throw error;
  }
}
