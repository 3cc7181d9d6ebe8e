import type { Command } from "commander";
import type { TenantLook } from "../../app/checks/look.ts";
import { INBOX_KINDS } from "../../client/inbox/item.ts";
import { openWorkspace } from "../../config/workspace.ts";
import { Fault } from "../../domain/fault.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { DAY_MS } from "../../domain/time/units.ts";
import { type CommandContext, type CommandModule, type Host, withSession } from "../command.ts";
import { defineCommand } from "../define-command.ts";
import { READS_FILES } from "../errors.ts";
import { identifier } from "../input/parsers.ts";
import { type SelectorOptions, takesTenantsToLookAt } from "../input/selector-option.ts";
import { readEach, tenantsMeant } from "../input/tenants.ts";
import { orDash } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import { instantColumn } from "../output/table.ts";

/** The state of one tenant. */
interface TenantStatus extends Pick<TenantLook, "serving" | "lastTradeAt" | "lastBackupAt"> {
  tenant: string;
  /** Addresses at which its servers of this directory listen for traders, the newest process first. */
  servers: Pick<TenantLook["servers"][number], "url" | "pid" | "version" | "since">[];
  /** The number of items that wait for a person; `pmctl inbox` lists them. */
  waiting: number;
  /** The first critical item; null when there is none. */
  critical: string | null;
}

const WITHIN_MS = 14 * DAY_MS;

function view(now: number): View<readonly TenantStatus[], TenantStatus> {
  const first = ({ servers: [server] }: TenantStatus) => server;
  return {
    kind: "list",
    rows: (tenants) => tenants,
    columns: [
      { title: "TENANT", cell: ({ tenant }) => tenant, whole: true },
      {
        title: "SERVED",
        cell: ({ servers: [newest, ...others] }) =>
          newest === undefined ? "no" : `${newest.url}${others.length === 0 ? "" : ` +${others.length}`}`,
        whole: true,
      },
      instantColumn("SINCE", (tenant) => first(tenant)?.since ?? null, { now }),
      { title: "VERSION", cell: (tenant) => orDash(first(tenant)?.version ?? null), optional: true },
      { title: "STANDBYS", cell: ({ serving }) => standbysOf(serving), align: "right", optional: true },
      {
        title: "QUEUE",
        cell: ({ serving }) => orDash(serving && String(serving.queue)),
        align: "right",
        optional: true,
      },
      { title: "P99", cell: ({ serving }) => milliseconds(serving?.recent?.p99Ms), align: "right", optional: true },
      instantColumn("LAST TRADE", ({ lastTradeAt }) => lastTradeAt, { now }),
      instantColumn("LAST BACKUP", ({ lastBackupAt }) => lastBackupAt, { now }),
      { title: "WAITING", cell: ({ waiting }) => String(waiting), align: "right" },
      { title: "CRITICAL", cell: ({ critical }) => orDash(critical) },
    ],
    empty: "There are no tenants here; `pmctl init` creates one",
  };
}

/** A dash where the database's login may not see them. */
function standbysOf(serving: TenantStatus["serving"]): string {
  return orDash(serving?.database?.standbys ? String(serving.database.standbys.length) : null);
}

/** In the last minutes; a dash without a server, or without a request. */
function milliseconds(of: number | null | undefined): string {
  return of === null || of === undefined ? "-" : `${of} ms`;
}

export function register(noun: Command, host: Host): void {
  host.add<SelectorOptions>(
    takesTenantsToLookAt(noun).description(
      "show one line per tenant: who serves it, since when and with which version, the standbys of its database, the queue of changes, how long requests took in the last minutes, the last trade, the last backup, and how much waits; exit code 0 whatever it shows, since `pmctl doctor` is the check for scripts. Changes and starts nothing",
    ),
    { names: "tenant servers serving lastTradeAt lastBackupAt waiting critical", ends: READS_FILES },
    runStatus,
  );
}

async function runStatus(context: CommandContext<SelectorOptions>): Promise<void> {
  const { options, io } = context;
  const { lookAtTenant } = await import("../../app/checks/look.ts");
  const workspace = openWorkspace();
  const tenants = tenantsMeant(workspace, context, "all");
  const { via, url, key } = options;
  const found = await readEach(tenants, async (tenant): Promise<TenantStatus> => {
    const looked = { withinMs: WITHIN_MS, kinds: INBOX_KINDS, via, url, key };
    // The line itself says whether the server or the database answered.
    const { items, servers, serving, lastTradeAt, lastBackupAt } = await lookAtTenant(
      workspace.directory,
      tenant,
      looked,
      () => {},
    );
    const waiting = items.filter(({ severity }) => severity !== "info");
    return {
      tenant,
      servers: servers.map(({ url, pid, version, since }) => ({ url, pid, version, since })),
      serving,
      lastTradeAt,
      lastBackupAt,
      waiting: waiting.length,
      critical: items.find(({ severity }) => severity === "critical")?.title ?? null,
    };
  });
  await io.output.print(found, view(wallClockMs()));
}

const healthRequest = defineCommand({
  operation: "getHealth",
  fields: ({ ok, db, service, uptimeSec }) => [
    ["healthy", ok ? "yes" : "no"],
    ["database", db ? "answers" : "does not answer"],
    ["service", service],
    ["up for", `${uptimeSec} s`],
  ],
  after: ({ ok }) => {
    if (!ok) throw new Fault("DATABASE_UNAVAILABLE", "The database does not answer");
  },
});

/** A server's health, which no other process can know: without a server the command ends with 9. */
export const health: CommandModule = {
  register: (noun, host) =>
    host.add(noun.argument("[tenant]", "the tenant", identifier), { operation: "getHealth" }, async (context) => {
      const {
        options,
        args: [tenant = context.options.tenant],
        io,
      } = context;
      if (options.via === "db") throw new Fault("USAGE", "health asks a server: leave out --via db");
      await withSession({ ...options, tenant, via: "http" }, io, (session) => healthRequest.run({}, session.api(), io));
    }),
};
