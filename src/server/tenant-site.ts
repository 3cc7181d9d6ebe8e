import type { H3 } from "h3";
import type { Logger } from "pino";
import { operationIds } from "../contract/operations.ts";
import { HostNames } from "../domain/access/host-names.ts";
import type { OutgoingRules } from "../domain/access/networks.ts";
import type { IsSealed } from "../domain/audit/seal.ts";
import { invariant } from "../domain/fault.ts";
import type { Sequencer } from "../ledger/sequencer/sequencer.ts";
import { recordKeyUse } from "../ledger/unchained/key-use.ts";
import { countRequests } from "../ledger/unchained/request-count.ts";
import { recordSecurityEvents } from "../ledger/unchained/security-log.ts";
import { Languages } from "../locales/languages.ts";
import { OutgoingHttp } from "../outgoing/guarded-fetch.ts";
import { withinDeadline } from "../postgres/client.ts";
import type { Pool } from "../postgres/pool.ts";
import type { InboundProvider } from "../providers/kyc.ts";
import { stripeHandlers } from "../providers/stripe/apply.ts";
import type { AuditTail } from "../services/audit/audit-tail.ts";
import type { Cursors } from "../services/cursor.ts";
import type { Handlers } from "../services/invoke.ts";
import { RefusalLog } from "../services/security/refusal-log.ts";
import { SecurityLog } from "../services/security/security-log.ts";
import type { Views } from "../services/views/views.ts";
import { AdminHosts } from "./access/admin-hosts.ts";
import { EndedSessions } from "./access/ended-sessions.ts";
import { KeyRing } from "./access/key-ring.ts";
import { KeySet, keySetLoader } from "./access/key-set.ts";
import { KeyUse } from "./access/key-use.ts";
import { Origins } from "./access/origins.ts";
import { sessionRoutes } from "./access/session.ts";
import { type JwtOptions, UserTokens } from "./access/user-tokens.ts";
import { createApp } from "./app.ts";
import type { ClientAddresses } from "./client-address.ts";
import type { OnRefused } from "./connections/connection-refusals.ts";
import type { Connections } from "./connections/connections.ts";
import { type StreamLimits, StreamSeats } from "./connections/stream-seats.ts";
import { Cors } from "./cors.ts";
import { FrontDoor, type OnAnswered, type RequestLimits, type StrictTransport } from "./front-door.ts";
import type { Metrics } from "./observe/metrics.ts";
import { watchSecurity } from "./observe/security-watch.ts";
import { openApiRoute } from "./openapi/document-routes.ts";
import { assetRoutes, readAssets } from "./pages/assets.ts";
import { docsRoutes } from "./pages/docs.ts";
import { FrameReader } from "./pages/embed-data.ts";
import { type EmbedOptions, embedRoutes } from "./pages/embed-page.ts";
import { marketRoutes } from "./pages/market/market-routes.ts";
import { type PlaygroundOptions, playgroundRoute } from "./pages/playground-page.ts";
import { RateLimiter } from "./rate-limiter.ts";
import { isAnsweredBy, operationRoute, type Route, type RouteServices } from "./routes.ts";
import { auditRoute } from "./streams/audit-route.ts";
import { StreamHub } from "./streams/stream-hub.ts";
import { streamRoute } from "./streams/stream-route.ts";

/** An unavailable database must not delay the end of a server; the last uses of keys are then lost. */
const KEY_USE_TIMEOUT_MS = 2000;

/** What a tenant answers over HTTP, and to whom. */
export interface TenantSiteOptions {
  tenantId: string;
  /** Named in the OpenAPI document. */
  baseUrl?: string | undefined;
  /**
   * The stream of events needs the tail, providers' webhooks need the sequencer, the widget needs the cursors and the
   * answers in memory, and the log in lines needs the connection for checks.
   */
  services: {
    handlers: Handlers;
    isSealed: IsSealed;
    sequencer?: Sequencer;
    tail?: AuditTail;
    refusals?: RefusalLog;
    security?: SecurityLog;
    cursors?: Cursors;
    views?: Views;
    publicReads?: Pick<Pool, "read" | "snapshot">;
    checks?: Pool;
  };
  /** Used for API keys, the shared request count, and the first data of streams and the widget. */
  pool: Pool;
  jwt: JwtOptions;
  /** Called with each request that was answered. */
  onAnswered?: OnAnswered | undefined;
  /** The hosts that our own requests may reach. */
  network?: OutgoingRules | undefined;
  /** The secrets of generic webhooks; an endpoint without an entry accepts none. */
  webhookSecrets?: RouteServices["webhookSecrets"] | undefined;
  /** Active signing secrets of the Stripe endpoint. */
  stripeSecrets?: readonly string[] | undefined;
  /** The identity provider whose own webhooks are accepted beside the generic ones. */
  kycProvider?: InboundProvider | undefined;
  /** Without it there is no widget. */
  embed?: EmbedOptions | undefined;
  /** The page to try the widget; only the demo has one. */
  playground?: PlaygroundOptions | undefined;
  /** Origins whose pages may call the public and user operations. */
  corsOrigins: readonly string[];
  /** Networks (CIDR) whose `X-Forwarded-For` is believed. */
  trustProxy: readonly string[];
  rateLimit: RequestLimits;
  /** How long a request waits for the shared request count before this process counts alone; 250 ms by default. */
  countTimeoutMs?: number | undefined;
  /** Host names, with `*.` for one label, under which anything is answered; all names unless given. */
  hosts?: readonly string[] | undefined;
  /** Host names under which admin operations exist; all names unless given. */
  adminHosts?: readonly string[] | undefined;
  /** Whether browsers are told to use HTTPS only: always, or where a trusted proxy says that the request came by HTTPS. */
  strictTransport?: StrictTransport | undefined;
  /** How often streams send a heartbeat and check their credentials. */
  streamHeartbeatMs?: number | undefined;
  log: Logger;
}

/** The application behind the API's port. */
export interface TenantSite {
  app: H3;
  door: FrontDoor;
  security: SecurityLog;
  /** The number of open streams. */
  streams(): number;
  /** Ends the streams of events, which would stay open otherwise. */
  endStreams(): void;
  /** Called once the last answer is written. */
  close(): Promise<void>;
}

/** The parts that a site shares with its listener. */
export interface SiteSurroundings {
  metrics: Metrics;
  addresses: ClientAddresses;
  connections: Connections;
  streamLimits: StreamLimits;
  onRefused: OnRefused;
}

/**
 * Creates a tenant's site, which no listener serves yet.
 * @throws Fault CONFIG_INVALID for an unusable option
 */
export function createTenantSite(options: TenantSiteOptions, surroundings: SiteSurroundings): TenantSite {
  const { tenantId, services, baseUrl, pool } = options;
  const cors = new Cors(options.corsOrigins);
  const limiter = sharedLimiter(options);
  const { addresses, metrics } = surroundings;
  const {
    refusals = new RefusalLog(),
    security = new SecurityLog({ write: (rows) => pool.note((sql) => recordSecurityEvents(sql, rows)) }),
    sequencer,
  } = services;
  watchSecurity(security, metrics, options.log);
  const { rateLimit: limits, strictTransport, log } = options;
  const hosts = new HostNames(options.hosts ?? []);
  const keys = new KeyRing(pool, services.isSealed);
  const door = new FrontDoor({
    ...surroundings,
    keys,
    hosts,
    cors,
    limiter,
    limits,
    refusals,
    security,
    strictTransport,
    log,
    onAnswered: options.onAnswered,
  });
  const outgoing = new OutgoingHttp(options.network);
  const ended = new EndedSessions(pool, services.isSealed, async ({ userId: traderId, tokenSha256, until }) =>
    sequencer?.submit({ command: { type: "endSession", traderId, tokenSha256, until }, actor: `user:${traderId}` }),
  );
  // Stripe's webhooks have a route of their own, and so a handler beside those of the services.
  const handlers = sequencer ? { ...stripeHandlers({ sequencer, pool }), ...services.handlers } : services.handlers;
  const uses = new KeyUse((seen) =>
    withinDeadline(
      pool.note((sql) => recordKeyUse(sql, seen)),
      KEY_USE_TIMEOUT_MS,
    ),
  );
  const identities = {
    keys,
    addresses,
    uses,
    tokens: new UserTokens(options.jwt, keySetOf(options, outgoing), ended),
    ended,
    origins: new Origins(options.corsOrigins, baseUrl),
  };
  const seats = new StreamSeats(surroundings.streamLimits);
  const hub =
    services.tail &&
    new StreamHub(services.tail, services.publicReads ?? pool, seats, options.streamHeartbeatMs, [keys, ended]);
  const streaming = {
    seats,
    identities,
    onFull: (address: string) => surroundings.onRefused("stream", address),
  };
  const stream = hub && streamRoute({ ...streaming, hub });
  const ownRoutes = [...sessionRoutes({ identities, security }), ...(stream ? [stream] : [])];
  const served = operationIds.filter((id) => handlers[id] !== undefined || isAnsweredBy(ownRoutes, id));
  const routeServices: RouteServices = {
    tenantId,
    handlers,
    identities,
    adminHosts: new AdminHosts(options.adminHosts ?? []),
    webhookSecrets: options.webhookSecrets ?? {},
    stripeSecrets: options.stripeSecrets ?? [],
    kycProvider: options.kycProvider,
    sequencer,
    countWebhook: limits.webhooksPerMinute === undefined ? null : (exchange, signed) => door.count(exchange, signed),
  };
  const app = createApp({
    door,
    cors,
    services: routeServices,
    documents: [
      ...ownRoutes,
      ...(services.checks ? [auditRoute(routeServices, services.checks)] : []),
      openApiRoute({ served, baseUrl, tenantId, stream: hub !== undefined }),
      ...docsRoutes({ baseUrl, tenantId }),
      ...widgetRoutes(options, keys, handlers, [stream, operationRoute("getPortfolio", routeServices)]),
    ],
  });
  return {
    app,
    door,
    security,
    streams: () => seats.taken,
    endStreams: () => hub?.close(),
    close: async () => {
      limiter.stop();
      await uses.stop();
      if (!services.security) await security.stop();
      await outgoing.close();
    },
  };
}

function sharedLimiter({ pool, log, countTimeoutMs }: TenantSiteOptions): RateLimiter {
  return new RateLimiter({
    count: (demands) => pool.note((sql) => countRequests(sql, demands)),
    onAway: (error) => log.warn({ err: error }, "Requests are counted by this process alone: the shared count is away"),
    answerTimeoutMs: countTimeoutMs,
  });
}

/** What readers see: the widget, with the routes that its frames read under addresses of their own too, and the market pages. */
function widgetRoutes(
  { embed: options, playground, pool, services: { cursors, views, publicReads = pool } }: TenantSiteOptions,
  keys: KeyRing,
  handlers: Handlers,
  [stream, portfolio]: [stream: Route | undefined, portfolio: Route | undefined],
): Route[] {
  if (!options) return [];
  invariant(cursors && views, "where the widget is served, its lists can be paged and its answers kept");
  const assets = readAssets();
  const { languages = new Languages({ words: options.theme?.words }) } = options;
  const traders = new Origins(options.allowedOrigins, options.baseUrl);
  const reader = new FrameReader(publicReads, cursors, views);
  const services = { options, assets, reader, keys, traders, languages };
  return [
    ...assetRoutes(assets),
    ...embedRoutes(services),
    ...(stream ? [inFrame(stream, "/embed/stream")] : []),
    ...(portfolio ? [inFrame(portfolio, "/embed/data/portfolio")] : []),
    ...marketRoutes({ ...options, languages }, handlers, (id) => reader.finalValue(id)),
    ...(playground ? [playgroundRoute(services, playground)] : []),
  ];
}

/** The same answers for frames of this origin alone, counted in the widget's bucket. */
function inFrame(route: Route, path: string): Route {
  return { ...route, path, forBrowsers: false, bucket: "embed" };
}

function keySetOf({ jwt, log }: TenantSiteOptions, outgoing: OutgoingHttp): KeySet | undefined {
  if (jwt.algorithm === "HS256") return undefined;
  const onError = (error: unknown): void => log.warn({ err: error }, "The key set of user tokens cannot be read");
  return new KeySet(keySetLoader(jwt.jwks, outgoing), { onError });
}
