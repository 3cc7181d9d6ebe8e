import { hostname } from "node:os";
import { askFacts } from "../../client/server-by-socket.ts";
import { isAlive } from "../../config/selection/operator-directory.ts";
import type { ServerFacts } from "../../contract/server-facts.ts";
import { auditKey } from "../../domain/audit/seal.ts";
import { Fault } from "../../domain/fault.ts";
import type { Lease } from "../../ledger/unchained/leases.ts";
import { serverSockets } from "../../state/server-sockets.ts";
import { StateError } from "../../state/state-directory.ts";
import { auditSecretsOf, type OperatorTenant } from "./operator-tenant.ts";

/** A server of this directory that answered. */
export interface ServerHere extends ServerFacts {
  socket: string;
}

/** The servers of a tenant that run on this machine from its directory. */
export interface ServersHere {
  /** Those that serve it with its audit key, the newest first. */
  servers: ServerHere[];
  /** Servers that cannot serve the tenant now, though perhaps other tenants. */
  failing: ServerHere[];
  /** Servers of another environment of the tenant, with another audit key. */
  foreign: ServerHere[];
  /** Processes that accept connections and do not answer. */
  silent: number[];
  /** Why the folder of the sockets proves nothing; undefined where it does, or where it is missing. */
  unproven?: string;
}

/**
 * Asks every server of the tenant for its facts, by the sockets below the state directory. Ignores sockets of killed
 * processes, which refuse connections.
 */
export async function serversHere(tenant: OperatorTenant): Promise<ServersHere> {
  const here: ServersHere = { servers: [], failing: [], foreign: [], silent: [] };
  try {
    const sockets = await serverSockets(tenant.directory, tenant.id);
    const isOurs = ourKeys(tenant);
    const asked = await Promise.all(sockets.map(async (socket) => ({ ...socket, facts: await askFacts(socket.path) })));
    for (const { path, pid, facts } of asked) {
      if (facts === "silent") here.silent.push(pid);
      if (typeof facts === "string" || facts.tenant !== tenant.id) continue;
      const found = { ...facts, socket: path };
      if (facts.auditKeyId !== null && !isOurs(facts.auditKeyId)) here.foreign.push(found);
      else (facts.problem === null ? here.servers : here.failing).push(found);
    }
  } catch (error) {
    if (!(error instanceof StateError)) throw error;
    here.unproven = error.message;
  }
  return here;
}

/**
 * Whether a server of the tenant runs: one of this directory that answers, or one elsewhere that has a lease. Ignores
 * an unexpired lease of a process of this machine that has ended.
 */
export async function isServed(tenant: OperatorTenant, readLeases: () => Promise<readonly Lease[]>): Promise<boolean> {
  const { servers } = await serversHere(tenant);
  if (servers.length > 0) return true;
  return (await readLeases()).some(({ holder, leftMs }) => leftMs > 0 && !endedHere(holder));
}

/** The problem of a tenant without a server whose file says `server.expected: true`. */
export const UNSERVED = "No server runs for it, and server.expected is true";

function endedHere(holder: string): boolean {
  const prefix = `${hostname()}-`;
  if (!holder.startsWith(prefix)) return false;
  return !isAlive(Number.parseInt(holder.slice(prefix.length), 10));
}

/**
 * Whether an audit key is one of the tenant's: staging and production in one directory have different keys, and must
 * not talk to each other's servers. Without the audit keys, only the tenant's name decides.
 */
function ourKeys(tenant: OperatorTenant): (keyId: string) => boolean {
  try {
    const ids = auditSecretsOf(tenant).map((secret) => auditKey(secret).id);
    return (keyId) => ids.includes(keyId);
  } catch (error) {
    if (error instanceof Fault) return () => true;
    throw error;
  }
}
