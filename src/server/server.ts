import type { Server } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { type ConnectionLimits, connectionLimits } from "../domain/access/connection-limits.ts";
import { NO_ORIGIN } from "../domain/access/security.ts";
import type { IntegrityProblem } from "../domain/audit/audit-link.ts";
import { monotonicMs } from "../domain/time/clock.ts";
import {
  forgetEndedSessions,
  forgetOldAnswers,
  forgetOldCounts,
  forgetOldSecurityEvents,
} from "../ledger/unchained/forget.ts";
import type { Pool } from "../postgres/pool.ts";
import type { LeaseStatus } from "../services/leases.ts";
import { listenerOf } from "./app.ts";
import { ClientAddresses } from "./client-address.ts";
import { type OnRefused, RefusalReport } from "./connections/connection-refusals.ts";
import { Connections } from "./connections/connections.ts";
import { descriptorLimit } from "./connections/descriptors.ts";
import { createListener, type KeyPair, renewKeyPair } from "./connections/listener.ts";
import { type Listening, listen, listenOnOneSocket } from "./connections/listening.ts";
import type { FrontDoor } from "./front-door.ts";
import { Metrics } from "./observe/metrics.ts";
import { watchMismatches } from "./observe/mismatch-watch.ts";
import { createOpsListener, type Readiness } from "./observe/ops-listener.ts";
import { proving } from "./server-proof.ts";
import { createTenantSite, type TenantSiteOptions } from "./tenant-site.ts";

export interface ServerOptions extends TenantSiteOptions {
  /** The id of the key that seals the audit log; the operations listener states it. */
  auditKeyId?: string | undefined;
  /** Proves this process to commands of the same directory; without it they need its address as an option. */
  proofSecret?: string | undefined;
  /** How long a connection may stay silent while the server closes, since a request may be on its way; 500 ms by default. */
  lastRequestMs?: number | undefined;
  /** Limits on connections; those not stated follow from the number of descriptors that this process may have. */
  limits?: { readonly [Limit in keyof ConnectionLimits]?: number | undefined } | undefined;
  /** Called for each connection and stream that a limit refused or ended, beside the metrics and the logs. */
  onRefused?: OnRefused | undefined;
  isDatabaseUp: () => Promise<boolean>;
  /** What the operations listener tells of changes; without it, that none is taken. */
  readiness?: (() => Promise<Readiness>) | undefined;
  /** Who does the work that one server of a tenant does at a time; without it the operations listener names none. */
  leases?: (() => readonly LeaseStatus[]) | undefined;
  /** What is wrong with the audit log; without it the operations listener reports it as sound. */
  integrityProblem?: (() => IntegrityProblem | undefined) | undefined;
  /** Shared with callers that record more than requests. */
  metrics?: Metrics | undefined;
}

export interface ListenOptions {
  host: string;
  /** 0 takes a free port, here and below. */
  port: number;
  opsPort: number;
  /** Loopback unless given: the operations listener asks for no key. */
  opsHost?: string | undefined;
  /** Makes the API's port speak TLS; the operations listener never does. */
  keyPair?: KeyPair | undefined;
}

export interface RunningServer {
  url: string;
  /** The address that the API listens on, as the system names it. */
  address: string;
  port: number;
  opsUrl: string;
  opsPort: number;
  /** Presents a renewed certificate to new connections. */
  renew(pair: KeyPair): void;
  /**
   * Tells probes that it leaves and goes on serving, each answer ending its connection, so that a load balancer sends
   * requests elsewhere before the port closes.
   * @param signal ends the time early
   */
  drain(ms: number, signal?: AbortSignal): Promise<void>;
  /** Stops accepting, finishes what is in flight (at most 25 s), and resolves when both ports are closed. */
  close(): Promise<void>;
}

const FORGOTTEN = [forgetOldCounts, forgetOldAnswers, forgetEndedSessions, forgetOldSecurityEvents];
const MOST_OPS_CONNECTIONS = 256;
const OPS_SHARE = 0.1;
const FORGET_INTERVAL_MS = 60_000;
const DRAIN_LIMIT_MS = 25_000;
const LAST_REQUEST_MS = 500;
const DRAIN_STEP_MS = 20;

/**
 * Serves one tenant over HTTP, and its state over the operations listener.
 * @throws Fault CONFIG_INVALID for an unusable option, USAGE when a port cannot be had
 */
export async function startServer(options: ServerOptions, where: ListenOptions): Promise<RunningServer> {
  const { tenantId, auditKeyId, isDatabaseUp, integrityProblem = () => undefined } = options;
  const { log, leases = () => [], metrics = new Metrics() } = options;
  const { readiness = async () => ({ writes: false, database: null }) } = options;
  const { opsHost = "127.0.0.1", keyPair } = where;
  const scheme = keyPair ? "https" : "http";
  const descriptors = descriptorLimit();
  const limits = connectionLimits(options.limits ?? {}, descriptors);
  const addresses = new ClientAddresses(options.trustProxy);
  const report = new RefusalReport(log);
  const onRefused: OnRefused = (reason, address) => {
    metrics.countRefused(reason);
    report.note(reason, address);
    // Ordinary clients go idle all the time.
    if (reason !== "idle") site.security.note("connections.refused", reason, { ...NO_ORIGIN, address });
    options.onRefused?.(reason, address);
  };
  const connections = new Connections({
    limits,
    addresses,
    onRefused: (reason, address) => {
      if (reason === "malformed") site.door.countUnparsed(address);
      onRefused(reason, address);
    },
  });
  const site = createTenantSite(options, { metrics, addresses, connections, streamLimits: limits, onRefused });
  const admitProof = async (socket: Socket): Promise<boolean> => {
    const { bucket } = addresses.peer(socket.remoteAddress ?? "");
    const admitted = connections.beginProof(socket) && (await site.door.countProof(bucket));
    if (!admitted) connections.note("rate", socket);
    return admitted;
  };
  const handle = proving(listenerOf(site.app), tenantId, options.proofSecret, admitProof);
  const server = createListener(handle, connections, keyPair);
  const isDraining = () => site.door.draining;
  const opsConnections = new Connections({ limits: opsLimits(limits, descriptors), addresses, onRefused });
  const ops = createOpsListener(
    { tenantId, auditKeyId, scheme, metrics, isDraining, isDatabaseUp, leases, integrityProblem, readiness },
    opsConnections,
  );
  metrics.setDraining(isDraining);
  metrics.setLeases(() => leases().map(({ work, held }) => [work, held ? 1 : 0]));
  metrics.setConnections(() => ({ api: connections.size, ops: opsConnections.size }), site.streams);
  // An `error` event without a listener ends the process, and one connection too many (EMFILE) is enough for one.
  const onError = (error: Error): void => log.error({ err: error }, "The listener failed");
  const listening = await listen(server, where.host, where.port, onError);
  // From here on: what keeps a listener from starting is thrown, and the caller says it.
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
  const stopForgetting = forgetRegularly(options.pool);
  const stopWatching = watchMismatches(metrics, log);
  const shutDown = async (): Promise<void> => {
    stopForgetting();
    site.endStreams();
    await drain(server, listening, site.door, connections, options.lastRequestMs);
    await site.close();
    const opsClosed = opsListening.close();
    opsConnections.destroyAll();
    await opsClosed;
    ops.close();
    stopWatching();
    report.close();
  };
  let closing: Promise<void> | undefined;
  return {
    url: urlOf(scheme, where.host, port),
    address,
    port,
    opsUrl: urlOf("http", opsHost, opsPort),
    opsPort,
    renew: (pair) => renewKeyPair(server, pair),
    async drain(ms, signal) {
      site.door.draining = true;
      await delay(ms, undefined, { signal }).catch(() => undefined);
    },
    close() {
      closing ??= shutDown();
      return closing;
    },
  };
}

/** The operations listener has few callers, which share one address where it stands on loopback. */
function opsLimits(limits: ConnectionLimits, descriptors: number): ConnectionLimits {
  const connections = Math.min(MOST_OPS_CONNECTIONS, Math.max(1, Math.floor(descriptors * OPS_SHARE)));
  return { ...limits, connections, connectionsPerAddress: connections };
}

/** Deletes expired rows every minute, until the returned function is called. */
function forgetRegularly(pool: Pool): () => void {
  const timer = setInterval(() => {
    // A failed attempt is repeated a minute later.
    for (const forget of FORGOTTEN) forget(pool).catch(() => {});
  }, FORGET_INTERVAL_MS).unref();
  return () => clearInterval(timer);
}

/** Answers every accepted request: connections end with their next answer, or after a silence. */
async function drain(
  server: Server,
  listening: Listening,
  door: FrontDoor,
  connections: Connections,
  lastRequestMs = LAST_REQUEST_MS,
): Promise<void> {
  door.draining = true;
  const closed = listening.close();
  const startedAt = monotonicMs();
  let quietSince = startedAt;
  while (monotonicMs() - startedAt < DRAIN_LIMIT_MS) {
    if (await Promise.race([closed.then(() => true), delay(DRAIN_STEP_MS, false)])) break;
    const now = monotonicMs();
    if (door.inFlight > 0) quietSince = now;
    if (now - startedAt >= lastRequestMs) server.closeIdleConnections();
    if (now - quietSince >= lastRequestMs) break;
  }
  server.closeAllConnections();
  connections.destroyAll();
  await closed;
  // Only the timer that checks for slow connections is left to close.
  server.close();
}

function urlOf(scheme: "http" | "https", host: string, port: number): string {
  const reachable = host === "0.0.0.0" || host === "::" ? "localhost" : host;
  return `${scheme}://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}
