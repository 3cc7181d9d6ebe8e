import pino, { type Logger } from "pino";
import type { TenantSecrets } from "../config/resolve-tenant.ts";
import type { TenantConfig } from "../config/tenant-file.ts";
import { Metrics } from "../server/metrics.ts";
import type { PlaygroundOptions } from "../server/playground-page.ts";
import { type RunningServer, startServer } from "../server/server.ts";
import { startClosingSweeper } from "../services/closing-sweeper.ts";
import { openTenant, type TenantServices } from "../services/tenant.ts";
import type { Cluster } from "../store/embedded/cluster.ts";
import type { TenantDatabase } from "./database.ts";
import { removeRunFile, writeRunFile } from "./run-file.ts";

export interface ServeOptions {
  directory: string;
  config: TenantConfig;
  secrets: TenantSecrets;
  database: TenantDatabase;
  host?: string | undefined;
  /** 0 takes any free port. */
  port?: number | undefined;
  opsPort?: number | undefined;
  /** The demo's page to try the widget. */
  playground?: PlaygroundOptions | undefined;
}

export interface TenantServer {
  url: string;
  opsUrl: string;
  services: TenantServices;
  close(): Promise<void>;
}

const CRASH_CHECK_MS = 1000;
const STDERR = 2;

/** Serves a tenant that has been applied. Applies nothing by itself. */
export async function serveTenant(options: ServeOptions): Promise<TenantServer> {
  const { directory, config, secrets, database } = options;
  const log = pino({ name: "pmctl", base: { tenant: config.tenant } }, pino.destination({ dest: STDERR, sync: true }));
  const metrics = new Metrics();
  const services = await openTenant({
    tenantId: config.tenant,
    connection: database.connection,
    auditSecret: secrets.auditKey,
    onError: (error) => log.error({ err: error }, "A commit failed"),
    onCommit: ({ commands }) => metrics.observeBatch(commands),
  });
  metrics.setQueueLength(() => services.sequencer.queueLength);
  const server = await listen(options, services, metrics, log).catch(async (error: unknown) => {
    await services.close();
    throw error;
  });
  const { url, opsUrl } = server;
  await writeRunFile(directory, config.tenant, { pid: process.pid, url, opsUrl });
  const stopWatching = watchCluster(database.cluster, services, log);
  const closing = startClosingSweeper(services, (error) =>
    log.error({ err: error }, "Closed markets cannot be recorded"),
  );
  return {
    url,
    opsUrl,
    services,
    close: async () => {
      stopWatching();
      await removeRunFile(directory, config.tenant, process.pid);
      await server.close();
      await closing.stop();
      await services.close();
    },
  };
}

function listen(
  options: ServeOptions,
  services: TenantServices,
  metrics: Metrics,
  log: Logger,
): Promise<RunningServer> {
  const { config, secrets } = options;
  return startServer(
    {
      tenantId: config.tenant,
      baseUrl: config.baseUrl,
      services,
      read: services.read,
      jwt: secrets.jwt,
      allowPrivate: config.network.allowPrivate,
      webhookSecrets: secrets.webhooks.inbound,
      stripeSecrets: secrets.webhooks.stripe,
      embed: {
        name: config.name,
        baseUrl: config.baseUrl,
        publicKeys: secrets.keys.filter(({ type }) => type === "public").map(({ value }) => value),
        allowedOrigins: config.embed.allowedOrigins,
      },
      playground: options.playground,
      corsOrigins: config.cors.origins,
      trustProxy: config.server.trustProxy,
      rateLimit: config.rateLimit,
      isDatabaseUp: services.isDatabaseUp,
      metrics,
      log,
    },
    {
      host: options.host ?? config.server.host,
      port: options.port ?? config.server.port,
      opsPort: options.opsPort ?? config.server.opsPort,
    },
  );
}

/** Brings the embedded database back after a crash; one that was stopped on purpose stays down. */
function watchCluster(cluster: Cluster | undefined, services: TenantServices, log: Logger): () => void {
  if (!cluster) return () => {};
  let checking = false;
  const timer = setInterval(async () => {
    if (checking) return;
    checking = true;
    try {
      if (!(await services.isDatabaseUp()) && (await cluster.restartAfterCrash()))
        log.warn("The embedded database had crashed and was started again");
    } catch (error) {
      log.error({ err: error }, "The embedded database cannot be started");
    } finally {
      checking = false;
    }
  }, CRASH_CHECK_MS);
  return () => clearInterval(timer);
}
