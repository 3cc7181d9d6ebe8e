import { existsSync } from "node:fs";
import type { InboxItem, InboxKind, Scope, Waiting } from "../../client/inbox/item.ts";
import { unreachable } from "../../client/inbox/waiting.ts";
import type { WireResult } from "../../contract/operations.ts";
import { isOtherKeyFault } from "../../domain/audit/chain-walk.ts";
import { Fault } from "../../domain/fault.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { embeddedCluster } from "../../postgres/embedded/cluster.ts";
import { lastBackupAt } from "../backup/last-backup.ts";
import { openConfigSession } from "../tenant/config-session.ts";
import { chooseDoor, type Door, type DoorOptions } from "../tenant/door.ts";
import { type DeclaredTenant, readDeclaredTenant } from "../tenant/operator-tenant.ts";
import { isServed, type ServerHere, serversHere } from "../tenant/servers-here.ts";
import type { Check } from "./check.ts";
import { CHECKS } from "./checks.ts";
import { explainUnserved } from "./ports.ts";

export interface InboxOptions extends DoorOptions {
  /** Show items that end within this time from now. */
  withinMs: number;
  /** Look only at these kinds and ask for no others. Unreachable tenants are always shown. */
  kinds: readonly InboxKind[];
}

/** The result of a look at one tenant. */
export interface TenantLook {
  /** Everything that waits for a person, unordered. */
  items: InboxItem[];
  /** The servers of this directory that answer. */
  servers: readonly ServerHere[];
  /** What the server, or else the database, says of both; null where neither answers. */
  serving: WireResult<"getServer"> | null;
  /** In ISO 8601; null before the first trade, or where it is unknown. */
  lastTradeAt: string | null;
  /** In ISO 8601; null where this directory wrote no backup. */
  lastBackupAt: string | null;
}

/**
 * Looks at one tenant. Starts and changes nothing: a stopped database makes the tenant unreachable.
 *
 * @param note receives how the command reaches the tenant
 */
export async function lookAtTenant(
  directory: string,
  tenant: string,
  options: InboxOptions,
  note: (message: string) => void,
): Promise<TenantLook> {
  const now = wallClockMs();
  const scope = { tenant, now, until: now + options.withinMs };
  const found: Waiting[] = [];
  const look: TenantLook = {
    ...{ items: [], servers: [], serving: null, lastTradeAt: null },
    lastBackupAt: await lastBackupAt({ directory, tenant }),
  };
  try {
    const declared = readDeclaredTenant(directory, tenant);
    look.servers = (await serversHere(declared)).servers;
    for (const { waits } of CHECKS) found.push(...((await waits?.files?.(declared, scope)) ?? []));
    const door = await chooseDoor(declared, options, note);
    const stopped = await stoppedDatabase(declared, door);
    found.push(...(stopped ?? (await ofLive(scope, declared, { ...options, door }, note, look))));
  } catch (error) {
    found.push(unreachable(tenant, problemOf(error)));
  }
  look.items = found
    .filter(({ kind }) => kind === "unreachable" || options.kinds.includes(kind))
    .map((each) => ({ tenant, ...each }));
  return look;
}

/** An item for a stopped embedded database without a server, because reading on would start it. */
async function stoppedDatabase({ id, directory, config }: DeclaredTenant, door: Door): Promise<Waiting[] | undefined> {
  if (config.database !== "embedded" || door.kind === "http") return undefined;
  const { running, dataDir } = await embeddedCluster(directory).status();
  if (running) return undefined;
  // This directory never created a database, so nothing can wait in it.
  return existsSync(dataDir) ? [unreachable(id, "Its database is stopped", "pmctl db start")] : [];
}

async function ofLive(
  scope: Scope,
  declared: DeclaredTenant,
  options: InboxOptions,
  note: (message: string) => void,
  look: TenantLook,
): Promise<Waiting[]> {
  const { tenant } = scope;
  const session = await openConfigSession(declared.directory, tenant, options, { note, onSealed: () => {} });
  try {
    const live = await session.open();
    // A tenant that was never applied has nothing that could wait.
    if (!live) return [];
    const found: Waiting[] = [];
    const problems: string[] = [];
    if (declared.config.server.expected && live.leases && !(await isServed(declared, live.leases))) {
      const { problem, command } = await explainUnserved(declared);
      found.push(unreachable(tenant, problem, command));
    }
    const isAsked = ({ waits }: Check) => waits?.kinds.some((kind) => options.kinds.includes(kind));
    for (const { waits } of CHECKS.filter(isAsked)) {
      try {
        found.push(...((await waits?.live?.(live, scope, session)) ?? []));
      } catch (error) {
        // Under another log's keys nothing is reliable.
        if (error instanceof Fault && isOtherKeyFault(error)) return [unreachable(tenant, problemOf(error))];
        problems.push(`${waits?.kinds.join(", ")}: ${problemOf(error)}`);
      }
    }
    look.serving = await live.api.getServer({}).catch(() => null);
    const trades = await live.api.listAudit({ type: "trade.executed", limit: 1 }).catch(() => undefined);
    look.lastTradeAt = trades?.entries[0]?.ts ?? null;
    if (problems.length > 0) found.push(unreachable(tenant, `Not looked at: ${problems.join("; ")}`));
    return found;
  } finally {
    await session.close();
  }
}

function problemOf(error: unknown): string {
  return error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
}
