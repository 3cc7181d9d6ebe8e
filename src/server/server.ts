import type { Server } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { ConnectionLimits } from "../domain/access/connection-limits.ts";
import { monotonicMs, wallClockMs } from "../domain/time/clock.ts";
import { SERVER_ID } from "../services/tenant/identifiers.ts";
import { listenForCommands } from "./command-socket.ts";
import { Connections } from "./connections/connections.ts";
import { descriptorLimit } from "./connections/descriptors.ts";
import { createListener, type KeyPair, renewKeyPair } from "./connections/listener.ts";
import { listen, listenOnOneSocket } from "./connections/listening.ts";
import { isConsolePath, pathOf } from "./console/console.ts";
import { createOpsListener, tenantOps } from "./observe/ops-listener.ts";
import { createTenant } from "./tenant.ts";
import type { TenantOptions } from "./tenant-options.ts";

export interface ListenOptions {
  host: string;
  /** 0 takes a free port, here and below. */
  port: number;
  opsPort: number;
  /** Loopback by default: the operations listener requires no key. */
  opsHost?: string | undefined;
  /** Makes the API's port use TLS; the operations listener never does. */
  keyPair?: KeyPair | undefined;
  /** The directory whose commands find this server through its socket. Without it, commands need the server's address. */
  commands?: { directory: string; version: string } | undefined;
}

export interface RunningServer {
  url: string;
  /** The address of the API, in the system's notation. */
  address: string;
  port: number;
  opsUrl: string;
  opsPort: number;
  /** Presents a renewed certificate to new connections. */
  renew(pair: KeyPair): void;
  /**
   * Fails the readiness probe but continues to serve, each answer ending its connection, so that a load balancer moves
   * requests elsewhere before the port closes.
   * @param signal ends this phase early
   */
  drain(ms: number, signal?: AbortSignal): Promise<void>;
  /** Stops accepting, answers the complete requests (for at most 25 s), and resolves when both ports are closed. */
  close(): Promise<void>;
}

const MOST_OPS_CONNECTIONS = 256;
const OPS_SHARE = 0.1;
const DRAIN_LIMIT_MS = 25_000;
const LAST_REQUEST_MS = 500;
const DRAIN_STEP_MS = 20;

/**
 * Serves one tenant over HTTP, and its state over the operations listener.
 * @throws Fault CONFIG_INVALID for an unusable option, USAGE for an unusable port
 */
export async function startServer(options: TenantOptions, where: ListenOptions): Promise<RunningServer> {
  const { log } = options;
  const { opsHost = "127.0.0.1", keyPair } = where;
  const scheme = keyPair ? "https" : "http";
  const descriptors = descriptorLimit();
  const tenant = createTenant(options, {
    descriptors,
    connect: (terms) => {
      const connections = new Connections(terms);
      return { connections, group: connections.group };
    },
  });
  const { door, connections, limits, addresses, onRefused } = tenant;
  const server = createListener(tenant.handle, connections, keyPair);
  const opsConnections = new Connections({ limits: opsLimits(limits, descriptors), addresses, onRefused });
  const pages = tenant.openConsole?.(opsConnections);
  const ops = createOpsListener(
    (path) => tenantOps(tenant.ops, path),
    opsConnections,
    (req, res) => {
      const isPage = pages !== undefined && isConsolePath(pathOf(req.url));
      if (isPage) pages.handle(req, res);
      return isPage;
    },
  );
  tenant.metrics.setConnections(() => ({ api: tenant.group.size, ops: opsConnections.group.size }), tenant.streams);
  // An `error` event without a listener ends the process, and one connection too many (EMFILE) can cause one.
  const onError = (error: Error): void => log.error({ err: error }, "The listener failed");
  const listening = await listen(server, where.host, where.port, onError);
  // Until here, an error that prevents listening is thrown and the caller reports it.
  server.on("error", onError);
  const { address, port } = listening;
  const opsListening = await listenOnOneSocket(ops, opsHost, where.opsPort).catch((error) => {
    void listening.close();
    connections.destroyAll();
    server.close();
    throw error;
  });
  ops.on("error", onError);
  const opsPort = opsListening.port;
  tenant.start();
  const url = urlOf(scheme, where.host, port);
  const opsUrl = urlOf("http", opsHost, opsPort);
  const since = new Date(wallClockMs()).toISOString();
  const commandSocket =
    where.commands &&
    (await listenForCommands({
      directory: where.commands.directory,
      tenant: options.tenantId,
      facts: () => ({
        ...{ tenant: options.tenantId, pid: process.pid, server: SERVER_ID, version: where.commands?.version ?? "" },
        ...{ since, url, opsUrl, auditKeyId: options.auditKeyId ?? null, problem: null },
      }),
      page: (path) => tenantOps(tenant.ops, path),
      handle: tenant.handle,
      leading: options.services.leading,
    }).catch((error: unknown) => {
      log.warn({ err: error }, "Commands of this directory cannot find this server: its socket cannot be created");
    }));
  const shutDown = async (): Promise<void> => {
    tenant.beginEnd();
    if (pages) pages.door.draining = true;
    const left = commandSocket?.leave();
    const inFlight = () => door.inFlight + (pages?.door.inFlight ?? 0);
    door.draining = true;
    const closed = listening.close();
    await finishRequests({ server, connections, inFlight, lastRequestMs: options.lastRequestMs }, closed);
    await closed;
    // Only the timer that checks for slow connections is left to stop.
    server.close();
    await tenant.end();
    const opsClosed = opsListening.close();
    opsConnections.destroyAll();
    await opsClosed;
    ops.close();
    commandSocket?.destroy();
    await left;
  };
  let closing: Promise<void> | undefined;
  return {
    url,
    address,
    port,
    opsUrl,
    opsPort,
    renew: (pair) => renewKeyPair(server, pair),
    async drain(ms, signal) {
      door.draining = true;
      await delay(ms, undefined, { signal }).catch(() => undefined);
    },
    close() {
      closing ??= shutDown();
      return closing;
    },
  };
}

/** The operations listener has few callers, which may all share the loopback address. */
export function opsLimits(limits: ConnectionLimits, descriptors: number): ConnectionLimits {
  const connections = Math.min(MOST_OPS_CONNECTIONS, Math.max(1, Math.floor(descriptors * OPS_SHARE)));
  return { ...limits, connections, connectionsPerAddress: connections };
}

/**
 * Answers every accepted request: connections end with their next answer, or after a silence. Waits until no request is in flight and none has arrived for a while, at most 25 s, then ends all connections.
 * Connections with an incomplete request end earlier.
 * @param ended resolves when no connections remain
 */
export async function finishRequests(
  {
    server,
    connections,
    inFlight,
    lastRequestMs = LAST_REQUEST_MS,
  }: { server: Server; connections: Connections; inFlight(): number; lastRequestMs?: number | undefined },
  ended: Promise<void>,
): Promise<void> {
  const startedAt = monotonicMs();
  let quietSince = startedAt;
  while (monotonicMs() - startedAt < DRAIN_LIMIT_MS) {
    if (await Promise.race([ended.then(() => true), delay(DRAIN_STEP_MS, false)])) break;
    const now = monotonicMs();
    if (inFlight() > 0) quietSince = now;
    if (now - startedAt >= lastRequestMs) {
      server.closeIdleConnections();
      connections.endIncomplete(now - lastRequestMs);
    }
    if (now - quietSince >= lastRequestMs) break;
  }
  server.closeAllConnections();
  connections.destroyAll();
}

/** The URL of a listener. */
export function urlOf(scheme: "http" | "https", host: string, port: number): string {
  const reachable = host === "0.0.0.0" || host === "::" ? "localhost" : host;
  return `${scheme}://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}
