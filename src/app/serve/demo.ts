import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { socketFetch } from "../../client/server-by-socket.ts";
import { DEMO_ENVIRONMENT } from "../../config/environment.ts";
import { freshSecrets } from "../../config/init.ts";
import { DEMO_TENANT, operatorDirectory, PACKAGED_DEMO } from "../../config/selection/operator-directory.ts";
import { tenantPath } from "../../config/workspace.ts";
import { Fault } from "../../domain/fault.ts";
import { embeddedCluster } from "../../postgres/embedded/cluster.ts";
import { requireListenable } from "../../server/connections/listening.ts";
import { serverSockets } from "../../state/server-sockets.ts";
import { createStateDirectory } from "../../state/state-directory.ts";
import { applyTenant } from "../apply/apply-tenant.ts";
import { overDatabase } from "../tenant/config-session.ts";
import { readDeclaredTenant } from "../tenant/operator-tenant.ts";
import { type ReadyTenant, readyTenant } from "../tenant/tenant-database.ts";
import { CROWD } from "./demo-crowd.ts";
import { playgroundTokens, type Stage, setStage } from "./demo-story.ts";
import { serveTenant, type TenantServer } from "./tenant-server.ts";

export interface DemoOptions {
  /** For a run that ends by itself; takes any free port. */
  once?: boolean;
  port?: number;
  /** The address to listen on, instead of the file's. */
  host?: string;
  /** False for a demo without traders of its own. */
  crowd?: boolean;
}

/** The demo tenant, served. */
export interface Demo {
  server: TenantServer;
  stage: Stage;
}

/**
 * Provisions the demo tenant and serves it while `work` runs. Leaves no process behind.
 * @param note receives what the demo waits for
 * @throws Fault USAGE when it cannot listen on the address; nothing was started then
 */
export async function withDemo<Value>(
  options: DemoOptions,
  note: (message: string) => void,
  work: (demo: Demo) => Promise<Value>,
): Promise<Value> {
  const directory = operatorDirectory();
  if (options.host !== undefined) await requireListenable(options.host, options.port ?? 0);
  await ensureDemoSecrets(directory);
  const cluster = embeddedCluster(directory);
  const wasRunning = (await cluster.status()).running;
  try {
    note("Starting PostgreSQL and applying tenants/demo");
    const tenant = await applyDemo(directory);
    const server = await serveSomewhere(tenant, options);
    try {
      const own = (await serverSockets(directory, DEMO_TENANT)).find(({ pid }) => pid === process.pid);
      if (!own) throw new Fault("UNREACHABLE", "The demo's server has no socket in .pmctl/servers");
      return await work({ server, stage: setStage(tenant, server.url, socketFetch(own.path)) });
    } finally {
      await server.close();
    }
  } finally {
    // A database that was running before keeps running for other commands of the directory.
    if (!wasRunning) await cluster.stop();
  }
}

/**
 * Creates the secrets of the demo's tenant file once, readable by this user only: later runs verify what this one
 * signs, and other commands of the directory find the demo's keys.
 */
async function ensureDemoSecrets(directory: string): Promise<void> {
  const file = join(directory, DEMO_ENVIRONMENT);
  if (existsSync(file)) return;
  createStateDirectory(directory);
  const lines = Object.entries(freshSecrets(DEMO_TENANT)).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(file, lines.join(""), { mode: 0o600, flag: "wx" });
}

async function applyDemo(directory: string): Promise<ReadyTenant> {
  const own = tenantPath(directory, DEMO_TENANT);
  const tenant = await readyTenant(readDeclaredTenant(directory, DEMO_TENANT, existsSync(own) ? own : PACKAGED_DEMO));
  const session = overDatabase(tenant, { reason: "demo" });
  try {
    // Keeps what a visitor changed in an earlier demo; the demo's own file may loosen anything.
    await applyTenant(session, () => ({ onDrift: "adopt", acceptLoosening: true }));
  } finally {
    await session.close();
  }
  return tenant;
}

/** Uses the tenant's own port if it is free and the line names none, else any free port. */
async function serveSomewhere(tenant: ReadyTenant, { once, port, host, crowd }: DemoOptions): Promise<TenantServer> {
  const playground = { tokens: () => playgroundTokens(tenant), crowd: crowd === false ? [] : CROWD };
  const stage = { ...tenant, host, playground, isQuiet: true };
  if (once && port === undefined) return serveTenant({ ...stage, port: 0, opsPort: 0 });
  try {
    return await serveTenant({ ...stage, port, ...(port === undefined ? {} : { opsPort: 0 }) });
  } catch (error) {
    if (port !== undefined || !(error instanceof Fault) || error.code !== "USAGE") throw error;
    return serveTenant({ ...stage, port: 0, opsPort: 0 });
  }
}
