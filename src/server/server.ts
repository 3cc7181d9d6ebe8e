import type { Server } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { monotonicMs, wallClockMs } from "../domain/time/clock.ts";
import { SERVER_ID } from "../services/tenant/identifiers.ts";
import { listenForCommands } from "./command-socket.ts";
import { Connections } from "./connections/connections.ts";
import { descriptorLimit } from "./connections/descriptors.ts";
import { createListener, type KeyPair, renewKeyPair } from "./connections/listener.ts";
import { listen, listenOnOneSocket, urlOf } from "./connections/listening.ts";
import { type ConsoleAddress, consoleUrl, listenForConsole, servesConsole } from "./console/listening.ts";
import { createOpsListener, opsLimits, tenantOps } from "./observe/ops-listener.ts";
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
  /** A listener for the console alone; without it, the operations listener serves the console. */
  console?: ConsoleAddress | undefined;
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
  /** The console's page; undefined for a tenant without a console. */
  consoleUrl: string | undefined;
  /** Presents a renewed certificate to new connections. */
  renew(pair: KeyPair): void;
  /** The same at the console's own listener. */
  renewConsole(pair: KeyPair): void;
  /**
   * Fails the readiness probe but continues to serve, each answer ending its connection, so that a load balancer moves
   * requests elsewhere before the port closes.
   * @param signal ends this phase early
   */
  drain(ms: number, signal?: AbortSignal): Promise<void>;
  /** Stops accepting, answers the complete requests (for at most 25 s), and resolves when both ports are closed. */
  close(): Promise<void>;
}

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
  const { openConsole } = tenant;
  const pages = where.console ? undefined : openConsole?.(opsConnections);
  const ops = createOpsListener((path) => tenantOps(tenant.ops, path), opsConnections, servesConsole(pages));
  tenant.metrics.setConnections(() => ({ api: tenant.group.size, ops: opsConnections.group.size }), tenant.streams);
  // An `error` event without a listener ends the process, and one connection too many (EMFILE) can cause one.
  const onError = (error: Error): void => log.error({ err: error }, "The listener failed");
  const listening = await listen(server, where.host, where.port, onError);
  // Until here, an error that prevents listening is thrown and the caller reports it.
  server.on("error", onError);
  const { address, port } = listening;
  const giveUp = (error: unknown): never => {
    void listening.close();
    connections.destroyAll();
    server.close();
    throw error;
  };
  const opsListening = await listenOnOneSocket(ops, opsHost, where.opsPort).catch(giveUp);
  ops.on("error", onError);
  const own =
    where.console &&
    openConsole &&
    (await listenForConsole(openConsole, where.console, { limits, addresses, onRefused, descriptors, onError }).catch(
      (error: unknown) => {
        void opsListening.close();
        ops.close();
        return giveUp(error);
      },
    ));
  const doors = [door, pages?.door, own?.door].filter((each) => each !== undefined);
  const opsPort = opsListening.port;
  tenant.start();
  const url = urlOf(scheme, where.host, port);
  const opsUrl = urlOf("http", opsHost, opsPort);
  const at = own ?? (pages && { host: opsHost, url: opsUrl });
  const page = at && options.console && consoleUrl(options.console, at);
  const since = new Date(wallClockMs()).toISOString();
  const commandSocket =
    where.commands &&
    (await listenForCommands({
      directory: where.commands.directory,
      tenant: options.tenantId,
      facts: () => ({
        ...{ tenant: options.tenantId, pid: process.pid, server: SERVER_ID, version: where.commands?.version ?? "" },
        ...{ since, url, opsUrl, consoleUrl: page ?? null, auditKeyId: options.auditKeyId ?? null, problem: null },
      }),
      page: (path) => tenantOps(tenant.ops, path),
      handle: tenant.handle,
      leading: options.services.leading,
    }).catch((error: unknown) => {
      log.warn({ err: error }, "Commands of this directory cannot find this server: its socket cannot be created");
    }));
  const shutDown = async (): Promise<void> => {
    tenant.beginEnd();
    const left = commandSocket?.leave();
    const passed = options.services.leading;
    const inFlight = () => doors.reduce((sum, each) => sum + each.inFlight, passed?.deciding ?? 0);
    for (const each of doors) each.draining = true;
    const closed = listening.close();
    const ended = Promise.all([closed, left]);
    await finishRequests({ server, connections, inFlight, lastRequestMs: options.lastRequestMs }, ended);
    await closed;
    // Only the timer that checks for slow connections is left to stop.
    server.close();
    await tenant.end();
    const opsClosed = opsListening.close();
    opsConnections.destroyAll();
    await Promise.all([opsClosed, own?.close()]);
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
    consoleUrl: page,
    renew: (pair) => renewKeyPair(server, pair),
    renewConsole: (pair) => own?.renew(pair),
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
  ended: Promise<unknown>,
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
