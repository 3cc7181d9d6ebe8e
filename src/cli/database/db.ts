import type { Command } from "commander";
import type { Migrated } from "../../app/database/owner-tasks.ts";
import type { ClusterStatus, TenantCluster } from "../../app/database/tenant-cluster.ts";
import type { Host, Io } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import type { View } from "../output/output.ts";
import { registerBackup } from "./db-backup.ts";

export interface ClusterOptions extends TenantCluster {
  /** Whether the end of a start or a stop says enough: `--quiet`, and no format was asked for. */
  silent?: boolean;
}

/** What psql ends with when it could not connect, or lost the connection. */
const PSQL_NO_CONNECTION = 2;

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
        const { openTenantCluster } = await import("../../app/database/tenant-cluster.ts");
        const silent = options.quiet === true && options.output === undefined;
        return run({ ...openTenantCluster(options.tenant), silent }, io);
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
    ({ options }) => runDbShell(options),
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
  const { migrateTenant } = await import("../../app/database/owner-tasks.ts");
  await output.print(await migrateTenant(options.tenant), migratedView);
  return EXIT.ok;
}

async function runDbShell(options: { tenant?: string | undefined }): Promise<ExitCode> {
  const { runPsql } = await import("../../app/database/owner-tasks.ts");
  const exitCode = await runPsql(options.tenant);
  if (exitCode === 0) return EXIT.ok;
  return exitCode === PSQL_NO_CONNECTION ? EXIT.unreachable : EXIT.unexpected;
}
