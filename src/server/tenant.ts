import type { RequestListener } from "node:http";
import type { Logger } from "pino";
import { type ConnectionLimits, connectionLimits } from "../domain/access/connection-limits.ts";
import { HostNames } from "../domain/access/host-names.ts";
import { NO_ORIGIN } from "../domain/access/security.ts";
import { monotonicMs } from "../domain/time/clock.ts";
import { MINUTE_MS } from "../domain/time/units.ts";
import {
  forgetOldAnswers,
  forgetOldConsoles,
  forgetOldCounts,
  forgetOldSecurityEvents,
} from "../ledger/unchained/forget.ts";
import { recordKeyUse } from "../ledger/unchained/key-use.ts";
import { countRequests } from "../ledger/unchained/request-count.ts";
import { recordSecurityEvents } from "../ledger/unchained/security-log.ts";
import { OutgoingHttp } from "../outgoing/guarded-fetch.ts";
import { withinDeadline } from "../postgres/client.ts";
import type { Pool } from "../postgres/pool.ts";
import { stripeHandlers } from "../providers/stripe/apply.ts";
import { onMismatch } from "../services/answers.ts";
import { RefusalLog } from "../services/security/refusal-log.ts";
import { SecurityLog } from "../services/security/security-log.ts";
import { AdminHosts } from "./access/admin-hosts.ts";
import { Cors } from "./access/cors.ts";
import { EndedSessions } from "./access/ended-sessions.ts";
import { KeyRing } from "./access/key-ring.ts";
import { KeySet, keySetLoader } from "./access/key-set.ts";
import { KeyUse } from "./access/key-use.ts";
import { Origins } from "./access/origins.ts";
import { UserTokens } from "./access/user-tokens.ts";
import { ClientAddresses } from "./client-address.ts";
import type { Connection } from "./connections/connection.ts";
import type { ConnectionGroup, ConnectionTerms } from "./connections/connection-group.ts";
import { type OnRefused, RefusalReport } from "./connections/connection-refusals.ts";
import type { Connections } from "./connections/connections.ts";
import { StreamSeats } from "./connections/stream-seats.ts";
import { type Console, createConsole } from "./console/console.ts";
import { FrontDoor, limitsOf } from "./front-door.ts";
import { Metrics } from "./observe/metrics.ts";
import type { OpsOptions } from "./observe/ops-listener.ts";
import { RecentRequests } from "./observe/recent-requests.ts";
import { watchSecurity } from "./observe/security-watch.ts";
import { RateLimiter } from "./rate-limiter.ts";
import type { RouteServices } from "./routes.ts";
import { StreamHub } from "./streams/stream-hub.ts";
import { streamRoute } from "./streams/stream-route.ts";
import type { TenantOptions } from "./tenant-options.ts";
import { routed, tenantRoutes } from "./tenant-routes.ts";

/** How a tenant is reached: by its own connections, or by some of the connections of a shared listener. */
export interface Reach {
  /** The number of files and sockets that this process may have open. */
  descriptors: number;
  /** Gives the tenant its connections, which are counted by the tenant's limits. */
  connect(terms: ConnectionTerms): { connections: Connections; group: ConnectionGroup<Connection> };
}

/** A tenant that is ready to answer requests; it does not listen itself. */
export interface HttpTenant {
  handle: RequestListener;
  door: FrontDoor;
  connections: Connections;
  group: ConnectionGroup<Connection>;
  limits: ConnectionLimits;
  addresses: ClientAddresses;
  metrics: Metrics;
  onRefused: OnRefused;
  /** The number of open streams. */
  streams(): number;
  /** Makes the operator's console behind a listener with these connections; undefined for a tenant without a console. */
  openConsole: ((connections: Connections) => Console) | undefined;
  /** What the operations listener reports about the tenant. */
  ops: OpsOptions;
  /** Starts the background work; call it once requests can arrive. */
  start(): void;
  /** Ends everything that would outlast the last request: streams and background work. */
  beginEnd(): void;
  /** Call after the last request is answered. */
  end(): Promise<void>;
}

const FORGOTTEN = [forgetOldCounts, forgetOldAnswers, forgetOldConsoles, forgetOldSecurityEvents];
/** An unavailable database must not delay the shutdown; the latest uses of keys are then lost. */
const KEY_USE_TIMEOUT_MS = 2000;

/**
 * Assembles everything that answers a tenant's requests.
 * @throws Fault CONFIG_INVALID for an unusable option
 */
export function createTenant(options: TenantOptions, { descriptors, connect }: Reach): HttpTenant {
  const { tenantId, isDatabaseUp, integrityProblem = () => undefined, services, baseUrl, pool } = options;
  const { log, leases = () => [], metrics = new Metrics() } = options;
  const { readiness = async () => ({ writes: false, database: null }) } = options;
  const { refusals = new RefusalLog(), sequencer, isSealed } = services;
  const security =
    services.security ?? new SecurityLog({ write: (rows) => pool.note((sql) => recordSecurityEvents(sql, rows)) });
  watchSecurity(security, metrics, log);
  const limits = connectionLimits(options.limits ?? {}, descriptors);
  const addresses = new ClientAddresses(options.trustProxy);
  const report = new RefusalReport(log);
  const onRefused: OnRefused = (reason, address) => {
    metrics.countRefused(reason);
    report.note(reason, address);
    // Idle connections are normal for ordinary clients.
    if (reason !== "idle") security.note("connections.refused", reason, { ...NO_ORIGIN, address });
    options.onRefused?.(reason, address);
  };
  const { connections, group } = connect({
    limits,
    addresses,
    onRefused: (reason, address) => {
      if (reason === "malformed") door.countUnparsed(address);
      onRefused(reason, address);
    },
  });
  const cors = new Cors(options.corsOrigins);
  const keys = new KeyRing(pool, isSealed);
  const limiter = new RateLimiter({
    count: (demands) => pool.note((sql) => countRequests(sql, demands)),
    onAway: (error) =>
      log.warn({ err: error }, "The shared request count is unavailable: this process counts requests alone"),
    answerTimeoutMs: options.countTimeoutMs,
  });
  const hosts = new HostNames(options.hosts ?? []);
  const parts = { addresses, limiter, keys, metrics, refusals, security };
  const door = new FrontDoor({ ...options, ...parts, connections, hosts, cors });
  const outgoing = new OutgoingHttp(options.network);
  const ended = new EndedSessions(pool, isSealed, async ({ userId: traderId, tokenSha256, until }) =>
    sequencer?.submit({ command: { type: "endSession", traderId, tokenSha256, until }, actor: `user:${traderId}` }),
  );
  const uses = new KeyUse((seen) =>
    withinDeadline(
      pool.note((sql) => recordKeyUse(sql, seen)),
      KEY_USE_TIMEOUT_MS,
    ),
  );
  const tokens = new UserTokens(options.jwt, keySetOf(options, outgoing), ended);
  const identities = { keys, addresses, uses, tokens, ended, origins: new Origins(options.corsOrigins, baseUrl) };
  const seats = new StreamSeats(limits);
  const hub =
    services.tail &&
    new StreamHub(services.tail, services.publicReads ?? pool, seats, options.streamHeartbeatMs, [keys, ended]);
  const onFull = (address: string) => onRefused("stream", address);
  const routeServices: RouteServices = {
    tenantId,
    // Stripe's webhooks have their own route, so their handler is separate from the services' handlers.
    handlers: sequencer ? { ...stripeHandlers({ sequencer, pool }), ...services.handlers } : services.handlers,
    identities,
    security,
    adminHosts: new AdminHosts(options.adminHosts ?? []),
    webhookSecrets: options.webhookSecrets ?? {},
    stripeSecrets: options.stripeSecrets ?? [],
    kycProvider: options.kycProvider,
    sequencer,
    countWebhook:
      options.rateLimit.webhooksPerMinute === undefined ? null : (exchange, signed) => door.count(exchange, signed),
  };
  const streamServices = hub && { hub, seats, identities, onFull };
  const stream = streamServices && streamRoute(streamServices);
  const { auditKeys, checks } = services;
  const openConsole =
    options.console && sequencer && auditKeys
      ? createConsole({
          ...options.console,
          ...{ services: routeServices, sequencer, auditKeys, pool, checks, stream: streamServices },
          door: { ...parts, rateLimit: options.rateLimit, log, onAnswered: options.onAnswered },
        })
      : undefined;
  const isDraining = () => door.draining;
  metrics.setDraining(isDraining);
  const recent = new RecentRequests(metrics.requests);
  if (services.serving) {
    const limits = limitsOf(options.rateLimit);
    services.serving.recent = () => recent.read();
    services.serving.limitOf = (kind) => limits[kind];
  }
  metrics.setLeases(() => leases().map(({ work, held }) => [work, held ? 1 : 0]));
  let stopWork = () => {};
  return {
    handle: routed(tenantRoutes(options, routeServices, stream), door, cors),
    door,
    connections,
    group,
    limits,
    addresses,
    metrics,
    onRefused,
    streams: () => seats.taken,
    openConsole,
    ops: { tenantId, metrics, isDraining, isDatabaseUp, leases, integrityProblem, readiness },
    start() {
      const stopForgetting = everyMinute(pool, recent);
      const stopWatching = watchMismatches(metrics, log);
      stopWork = () => {
        stopForgetting();
        stopWatching();
      };
    },
    beginEnd() {
      stopWork();
      hub?.close();
    },
    async end() {
      limiter.stop();
      await uses.stop();
      if (!services.security) await security.stop();
      await outgoing.close();
      report.close();
    },
  };
}

function keySetOf({ jwt, log }: TenantOptions, outgoing: OutgoingHttp): KeySet | undefined {
  if (jwt.algorithm === "HS256") return undefined;
  const onError = (error: unknown): void => log.warn({ err: error }, "The key set of user tokens cannot be read");
  return new KeySet(keySetLoader(jwt.jwks, outgoing), { onError });
}

/** Deletes expired rows, and marks the counts of requests, every minute until the returned function is called. */
function everyMinute(pool: Pool, recent: RecentRequests): () => void {
  const timer = setInterval(() => {
    recent.mark();
    // The next minute repeats a failed attempt.
    for (const forget of FORGOTTEN) forget(pool).catch(() => {});
  }, MINUTE_MS).unref();
  return () => clearInterval(timer);
}

/** The same row may cause a mismatch at every read; the metric counts them all. */
const LOG_INTERVAL_MS = MINUTE_MS;

/** Counts answers that do not fit the contract, and logs one a minute for each operation, until the returned function is called. */
export function watchMismatches(metrics: Pick<Metrics, "countMismatch">, log: Logger): () => void {
  const loggedAt = new Map<string, number>();
  return onMismatch(({ operation, problem }) => {
    metrics.countMismatch(operation);
    const now = monotonicMs();
    if (now - (loggedAt.get(operation) ?? Number.NEGATIVE_INFINITY) < LOG_INTERVAL_MS) return;
    loggedAt.set(operation, now);
    log.error({ operation, problem }, "An answer does not fit the contract");
  });
}
