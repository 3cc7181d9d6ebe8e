import type { Command } from "commander";
import type { DatabaseStatus } from "../../app/database/database-status.ts";
import type { Migrated } from "../../app/database/owner-tasks.ts";
import type { Cluster } from "../../app/database/tenant-cluster.ts";
import type { Globals, Host } from "../command.ts";
import { EXIT, NOT_CONFIRMED, USES_DATABASE } from "../errors.ts";
import { declined, mustAsk, type Prompts } from "../input/prompts.ts";
import { orDash } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import { registerBackup } from "./db-backup.ts";

/** psql's exit code when it could not connect, or lost the connection. */
const PSQL_NO_CONNECTION = 2;

export function register(noun: Command, host: Host): void {
  const verbs = [
    ["start", "start the directory's database server, creating it on first use"],
    ["stop", "stop the server; only `db start` or a command that needs it starts it again"],
  ] as const;
  for (const [verb, summary] of verbs)
    host.add(
      noun.command(verb).description(summary),
      { names: STATUS_FIELDS, ends: { ...USES_DATABASE, ...(verb === "stop" && { 3: NOT_CONFIRMED }) } },
      async ({ options, io: { output, prompts } }) => {
        const [{ openTenantCluster }, { statusOfCluster }] = await Promise.all([
          import("../../app/database/tenant-cluster.ts"),
          import("../../app/database/database-status.ts"),
        ]);
        const { cluster, database } = openTenantCluster(options.tenant);
        if (verb === "start") await cluster.start();
        if (verb === "stop") await confirmStop(cluster, options, prompts);
        const stopped = verb === "stop" && (await cluster.stop());
        // A quiet start or stop needs no line for its end.
        if (!options.quiet || options.output !== undefined)
          await output.print(statusOfCluster(await cluster.status(database)), statusView);
        if (verb === "stop")
          output.note(stopped ? "The database server was stopped." : "The database server was not running.");
      },
    );
  host.add(
    noun.command("status").description("show the tenant's database server: whether it answers, and how to connect"),
    { names: STATUS_FIELDS, ends: USES_DATABASE },
    async ({ options, io }) => {
      const { databaseStatus } = await import("../../app/database/database-status.ts");
      return io.output.print(await databaseStatus(options.tenant), statusView);
    },
  );
  host.add(
    noun.command("migrate").description("bring a tenant's schema to the version of this pmctl"),
    { names: "tenant applied", ends: USES_DATABASE },
    async ({ options, io }) => {
      const { migrateTenant, noticeToServers } = await import("../../app/database/owner-tasks.ts");
      const migrated = await migrateTenant(options.tenant);
      const notice = noticeToServers(migrated.applied);
      if (notice) io.output.note(notice);
      return io.output.print(migrated, migratedView);
    },
  );
  host.add(
    noun.command("shell").description("run psql on a tenant's database, as its owner; reads SQL from stdin in a pipe"),
    null,
    async ({ options }) => {
      const { runPsql } = await import("../../app/database/owner-tasks.ts");
      const exitCode = await runPsql(options.tenant);
      if (exitCode === 0) return EXIT.ok;
      return exitCode === PSQL_NO_CONNECTION ? EXIT.unreachable : EXIT.unexpected;
    },
  );
  registerBackup(noun, host);
}

/**
 * Asks before it stops a database that other clients use.
 * @throws Fault USAGE naming the clients where there is no terminal to ask on; REFUSED when the operator says no
 */
async function confirmStop(cluster: Cluster, options: Pick<Globals, "yes">, prompts: Prompts): Promise<void> {
  const clients = await cluster.clients();
  if (clients.length === 0) return;
  // A pmctl process holds several connections. The name of each begins with pmctl's and ends with its work.
  const names = clients.map(({ name, database }) => `${name.replace(/^pmctl .*/, "pmctl")} (${database})`);
  const who = [...new Set(names)].join(", ");
  if (!mustAsk(options, prompts, `Stopping the database under those who are connected to it, ${who},`)) return;
  if (!(await prompts.confirm(`${who}: stop the database under them?`))) throw declined();
}

const STATUS_FIELDS = "external reachable running dataDir host port url version standbys";

const statusView: View<DatabaseStatus, DatabaseStatus> = {
  kind: "record",
  fields: ({ external, reachable, dataDir, host, port, url, version, standbys }) => [
    ["server", external ? "external, as the tenant file says" : "embedded, of this directory"],
    [external ? "reachable" : "running", reachable ? "yes" : "no"],
    ["data", dataDir ?? undefined],
    [external ? "host" : "socket", host],
    ["port", String(port)],
    ["url", url],
    ["version", orDash(version)],
    ["standbys", external ? orDash(standbys.map(({ name, state }) => `${name} ${state}`).join(", ")) : undefined],
  ],
};

const migratedView: View<Migrated, Migrated> = {
  kind: "record",
  fields: ({ tenant, applied }) => [
    ["tenant", tenant],
    ["applied", applied.length === 0 ? "nothing to do" : applied.join(", ")],
  ],
};
