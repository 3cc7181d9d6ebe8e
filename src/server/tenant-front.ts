import type { RequestListener } from "node:http";
import type { Logger } from "pino";
import { type ConnectionLimits, connectionLimits } from "../domain/access/connection-limits.ts";
import { NO_ORIGIN } from "../domain/access/security.ts";
import type { IntegrityProblem } from "../domain/audit/audit-link.ts";
import { monotonicMs } from "../domain/time/clock.ts";
import { forgetOldAnswers, forgetOldCounts, forgetOldSecurityEvents } from "../ledger/unchained/forget.ts";
import type { Pool } from "../postgres/pool.ts";
import { onMismatch } from "../services/answers.ts";
import type { LeaseStatus } from "../services/leases.ts";
import { listenerOf } from "./app.ts";
import { ClientAddresses } from "./client-address.ts";
import type { Connection } from "./connections/connection.ts";
import type { ConnectionGroup, ConnectionTerms } from "./connections/connection-group.ts";
import { type OnRefused, RefusalReport } from "./connections/connection-refusals.ts";
import type { Connections } from "./connections/connections.ts";
import { Metrics } from "./observe/metrics.ts";
import type { OpsOptions, Readiness } from "./observe/ops-listener.ts";
import { createTenantSite, type TenantSite, type TenantSiteOptions } from "./tenant-site.ts";

export interface ServerOptions extends TenantSiteOptions {
  /** The id of the key that seals the audit log; commands of the directory are told. */
  auditKeyId?: string | undefined;
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

/** How a tenant is reached: by connections of its own, or by some of those that a listener of several tenants has. */
export interface Reach {
  /** How many files and sockets this process may have open. */
  descriptors: number;
  /** Gives the tenant its connections, which are counted by its own terms. */
  connect(terms: ConnectionTerms): { connections: Connections; group: ConnectionGroup<Connection> };
}

/** A tenant that is ready to answer requests; it listens to nothing itself. */
export interface TenantFront {
  handle: RequestListener;
  site: TenantSite;
  connections: Connections;
  group: ConnectionGroup<Connection>;
  limits: ConnectionLimits;
  addresses: ClientAddresses;
  metrics: Metrics;
  onRefused: OnRefused;
  /** What the operations listener tells of it. */
  ops: OpsOptions;
  /** Begins the work beside requests; to be called once they can come. */
  start(): void;
  /** Ends what would outlast the last request: streams, and the work beside requests. */
  beginEnd(): void;
  /** To be called once the last request is answered. */
  end(): Promise<void>;
}

const FORGOTTEN = [forgetOldCounts, forgetOldAnswers, forgetOldSecurityEvents];
const FORGET_INTERVAL_MS = 60_000;

/**
 * Puts together what answers a tenant's requests.
 * @throws Fault CONFIG_INVALID for an unusable option
 */
export function createTenantFront(options: ServerOptions, { descriptors, connect }: Reach): TenantFront {
  const { tenantId, isDatabaseUp, integrityProblem = () => undefined } = options;
  const { log, leases = () => [], metrics = new Metrics() } = options;
  const { readiness = async () => ({ writes: false, database: null }) } = options;
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
  const { connections, group } = connect({
    limits,
    addresses,
    onRefused: (reason, address) => {
      if (reason === "malformed") site.door.countUnparsed(address);
      onRefused(reason, address);
    },
  });
  const site = createTenantSite(options, { metrics, addresses, connections, streamLimits: limits, onRefused });
  const isDraining = () => site.door.draining;
  metrics.setDraining(isDraining);
  metrics.setLeases(() => leases().map(({ work, held }) => [work, held ? 1 : 0]));
  let stopWork = () => {};
  return {
    handle: listenerOf(site.app),
    site,
    connections,
    group,
    limits,
    addresses,
    metrics,
    onRefused,
    ops: { tenantId, metrics, isDraining, isDatabaseUp, leases, integrityProblem, readiness },
    start() {
      const stopForgetting = forgetRegularly(options.pool);
      const stopWatching = watchMismatches(metrics, log);
      stopWork = () => {
        stopForgetting();
        stopWatching();
      };
    },
    beginEnd() {
      stopWork();
      site.endStreams();
    },
    async end() {
      await site.close();
      report.close();
    },
  };
}

/** Deletes expired rows every minute, until the returned function is called. */
function forgetRegularly(pool: Pool): () => void {
  const timer = setInterval(() => {
    // A failed attempt is repeated a minute later.
    for (const forget of FORGOTTEN) forget(pool).catch(() => {});
  }, FORGET_INTERVAL_MS).unref();
  return () => clearInterval(timer);
}

/** The same row may cause a mismatch at every read; the counter tells how often. */
const LOG_INTERVAL_MS = 60_000;

/** Counts answers that do not fit the contract, and logs one a minute for each operation, until the returned function is called. */
export function watchMismatches(metrics: Pick<Metrics, "countMismatch">, log: Logger): () => void {
  const loggedAt = new Map<string, number>();
  return onMismatch(({ operation, problem }) => {
    metrics.countMismatch(operation);
    const now = monotonicMs();
    if (now - (loggedAt.get(operation) ?? Number.NEGATIVE_INFINITY) < LOG_INTERVAL_MS) return;
    loggedAt.set(operation, now);
    log.error({ operation, problem }, "An answer was given that is not what the contract says");
  });
}
