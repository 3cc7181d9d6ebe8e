import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { tenantPath } from "../../config/workspace.ts";
import { Fault } from "../../domain/fault.ts";
import { embeddedCluster } from "../../postgres/embedded/cluster.ts";
import { applyTenant } from "../apply/apply-tenant.ts";
import { tenantFetch } from "../doors/trust.ts";
import { overDatabase } from "../tenant/config-session.ts";
import { readDeclaredTenant } from "../tenant/operator-tenant.ts";
import { type ReadyTenant, readyTenant } from "../tenant/tenant-database.ts";
import { CROWD } from "./demo-crowd.ts";
import { ensureDemoSecrets } from "./demo-secrets.ts";
import { playgroundTokens, type Stage, setStage } from "./demo-story.ts";
import { serveTenant, type TenantServer } from "./tenant-server.ts";

export const DEMO_TENANT = "demo";
const PACKAGED = fileURLToPath(new URL(`../../../tenants/${DEMO_TENANT}/tenant.yaml`, import.meta.url));

export interface DemoOptions {
  /** Runs once through everything and ends, so that any free port will do. */
  once?: boolean;
  port?: number;
  /** Where it listens, instead of the file's. */
  host?: string;
  /** False leaves the markets to the visitor. */
  crowd?: boolean;
}

/** The demo tenant, served. */
export interface Demo {
  server: TenantServer;
  stage: Stage;
}

/**
 * Provisions the demo tenant and serves it for as long as `work` runs. Leaves no process behind.
 * @param note told what is waited for
 */
export async function withDemo<Value>(
  options: DemoOptions,
  note: (message: string) => void,
  work: (demo: Demo) => Promise<Value>,
): Promise<Value> {
  const directory = process.cwd();
  await ensureDemoSecrets(directory);
  const cluster = embeddedCluster(directory);
  const wasRunning = (await cluster.status()).running;
  try {
    note("Starting PostgreSQL and applying tenants/demo");
    const tenant = await applyDemo(directory);
    const server = await serveSomewhere(tenant, options);
    try {
      const fetch = await tenantFetch(tenant, { url: server.localUrl, proven: true });
      return await work({ server, stage: setStage(tenant, server.localUrl, fetch) });
    } finally {
      await server.close();
    }
  } finally {
    // A database that other commands of the directory were using stays.
    if (!wasRunning) await cluster.stop();
  }
}

async function applyDemo(directory: string): Promise<ReadyTenant> {
  const own = tenantPath(directory, DEMO_TENANT);
  const tenant = await readyTenant(readDeclaredTenant(directory, DEMO_TENANT, existsSync(own) ? own : PACKAGED));
  const session = overDatabase(tenant, { reason: "demo" });
  try {
    // Whatever was tried out on an earlier demo stays, and the demo's own file may say what it likes.
    await applyTenant(session, () => ({ onDrift: "adopt", acceptLoosening: true }));
  } finally {
    await session.close();
  }
  return tenant;
}

/** The tenant's own port if it is free and none was asked for, else any. */
async function serveSomewhere(tenant: ReadyTenant, { once, port, host, crowd }: DemoOptions): Promise<TenantServer> {
  const playground = { tokens: () => playgroundTokens(tenant), crowd: crowd === false ? [] : CROWD };
  const stage = { ...tenant, host, playground };
  if (once && port === undefined) return serveTenant({ ...stage, port: 0, opsPort: 0 });
  try {
    return await serveTenant({ ...stage, port, ...(port === undefined ? {} : { opsPort: 0 }) });
  } catch (error) {
    if (port !== undefined || !(error instanceof Fault) || error.code !== "USAGE") throw error;
    return serveTenant({ ...stage, port: 0, opsPort: 0 });
  }
}
