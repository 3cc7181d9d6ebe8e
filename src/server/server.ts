import { once } from "node:events";
import type { Server } from "node:http";
import { Server as NetServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { toNodeHandler } from "h3";
import type { Logger } from "pino";
import type { Sequencer } from "../sequencer/sequencer.ts";
import type { AuditTail } from "../services/audit-tail.ts";
import { OutgoingHttp } from "../services/guarded-fetch.ts";
import type { Handlers } from "../services/invoke.ts";
import { RefusalLog } from "../services/refusal-log.ts";
import type { Sql } from "../store/connect.ts";
import { forgetOldAnswers, forgetOldCounts } from "../store/forget.ts";
import { countRequests } from "../store/request-count.ts";
import type { InboundProvider } from "../webhooks/providers/provider.ts";
import { createApp } from "./app.ts";
import { assetRoutes, readAssets } from "./assets.ts";
import { ClientAddresses } from "./client-address.ts";
import { monotonicMs } from "./clock.ts";
import { Cors } from "./cors.ts";
import { docsRoute } from "./docs-page.ts";
import { FrameReader } from "./embed-data.ts";
import { type EmbedOptions, embedRoutes } from "./embed-page.ts";
import { FrontDoor } from "./front-door.ts";
import { KeyRing } from "./key-ring.ts";
import { KeySet, keySetLoader } from "./key-set.ts";
import { createListener, type KeyPair, listen, renewKeyPair, trackHandshakes } from "./listener.ts";
import { Metrics } from "./metrics.ts";
import { openApiDocument } from "./openapi.ts";
import { createOpsListener } from "./ops-listener.ts";
import { Origins } from "./origins.ts";
import { type PlaygroundOptions, playgroundRoute } from "./playground-page.ts";
import { RateLimiter } from "./rate-limiter.ts";
import { documentRoute, type Route } from "./routes.ts";
import { servedHere, sessionRoutes } from "./session.ts";
import { StreamHub } from "./stream-hub.ts";
import { streamRoute } from "./stream-route.ts";
import { type JwtOptions, UserTokens } from "./user-tokens.ts";

export interface ServerOptions {
  tenantId: string;
  /** The id of the key that seals the audit log; the operations listener states it. */
  auditKeyId?: string | undefined;
  /** How long a connection may stay silent while the server closes, since a request may be on its way; half a second unless told. */
  lastRequestMs?: number | undefined;
  /** Named in the OpenAPI document. */
  baseUrl?: string | undefined;
  /** Without a tail there is no stream of events; an identity provider's news needs the sequencer. */
  services: { handlers: Handlers; sequencer?: Sequencer; tail?: AuditTail; refusals?: RefusalLog };
  /** For API keys and the shared request count. */
  read: Sql;
  jwt: JwtOptions;
  /** Private networks (CIDR) that our own requests may reach. */
  allowPrivate?: readonly string[] | undefined;
  /** Active secrets of inbound webhooks. */
  webhookSecrets: readonly string[];
  /** Active signing secrets of the Stripe endpoint. */
  stripeSecrets?: readonly string[] | undefined;
  /** The identity provider whose own webhooks are taken beside the generic ones. */
  kycProvider?: InboundProvider | undefined;
  /** Without it there is no widget. */
  embed?: EmbedOptions | undefined;
  /** The demo's page to try the widget; nobody else has one. */
  playground?: PlaygroundOptions | undefined;
  /** Origins whose pages may call the public and user operations. */
  corsOrigins: readonly string[];
  /** Networks (CIDR) whose `X-Forwarded-For` is believed. */
  trustProxy: readonly string[];
  rateLimit: { perMinute: number; webhooksPerMinute?: number | undefined };
  /** How long a request waits for the count that all processes share, before this one counts alone; 250 ms unless told. */
  countTimeoutMs?: number | undefined;
  isDatabaseUp: () => Promise<boolean>;
  /** Whether browsers are told to come back by HTTPS only. */
  strictTransport?: boolean | undefined;
  /** How often streams show that they are alive, and check their credentials. */
  streamHeartbeatMs?: number | undefined;
  /** Shared with whoever records more than requests. */
  metrics?: Metrics | undefined;
  log: Logger;
}

export interface ListenOptions {
  host: string;
  /** 0 takes a free one, here and below. */
  port: number;
  opsPort: number;
  /** Loopback unless given: the operations listener asks for no key. */
  opsHost?: string | undefined;
  /** Makes the API's port speak TLS; the operations listener never does. */
  keyPair?: KeyPair | undefined;
}

export interface RunningServer {
  url: string;
  port: number;
  opsUrl: string;
  opsPort: number;
  /** Shows a renewed certificate to connections from now on. */
  renew(pair: KeyPair): void;
  /** Stops accepting, finishes what is in flight (at most 25 s), and resolves when both ports are closed. */
  close(): Promise<void>;
}

const FORGET_INTERVAL_MS = 60_000;
const DRAIN_LIMIT_MS = 25_000;
const LAST_REQUEST_MS = 500;
const DRAIN_STEP_MS = 20;

/**
 * Serves one tenant over HTTP, and its state over the operations listener.
 * @throws Fault CONFIG_INVALID for an unusable option, USAGE when a port cannot be had
 */
export async function startServer(options: ServerOptions, where: ListenOptions): Promise<RunningServer> {
  const { tenantId, read, log, metrics = new Metrics() } = options;
  const cors = new Cors(options.corsOrigins);
  const limiter = new RateLimiter({
    count: (demands) => countRequests(read, demands),
    onAway: (error) => log.warn({ err: error }, "Requests are counted by this process alone: the shared count is away"),
    answerTimeoutMs: options.countTimeoutMs,
  });
  const addresses = new ClientAddresses(options.trustProxy);
  const { refusals = new RefusalLog() } = options.services;
  const door = new FrontDoor({
    addresses,
    limiter,
    limits: options.rateLimit,
    cors,
    metrics,
    refusals,
    log,
    strictTransport: options.strictTransport,
  });
  const outgoing = new OutgoingHttp(options.allowPrivate);
  const keys = new KeyRing(read);
  const handlers = forgettingKeys(options.services.handlers, keys);
  const identities = {
    keys,
    tokens: new UserTokens(options.jwt, keySetOf(options.jwt, outgoing, log)),
    origins: new Origins(options.corsOrigins, options.baseUrl),
  };
  const hub = options.services.tail && new StreamHub(options.services.tail, read, options.streamHeartbeatMs);
  const ownRoutes = [...sessionRoutes({ identities }), ...(hub ? [streamRoute(hub, identities)] : [])];
  const ownBucket = options.rateLimit.webhooksPerMinute !== undefined;
  const served = servedHere(handlers, ownRoutes);
  const document = openApiDocument({ handlers: served, baseUrl: options.baseUrl, stream: hub !== undefined });
  const app = createApp({
    door,
    cors,
    services: {
      tenantId,
      handlers,
      identities,
      webhookSecrets: options.webhookSecrets,
      stripeSecrets: options.stripeSecrets ?? [],
      kycProvider: options.kycProvider,
      sequencer: options.services.sequencer,
      countWebhook: ownBucket ? (exchange, signed) => door.count(exchange, signed) : null,
    },
    documents: [
      ...ownRoutes,
      documentRoute("/openapi.json", document),
      docsRoute(document),
      ...(options.embed
        ? widgetRoutes(options.embed, options.playground, new FrameReader(handlers, read), identities.keys)
        : []),
    ],
  });
  const server = createListener(toNodeHandler(app), where.keyPair);
  const endHandshakes = trackHandshakes(server);
  const scheme = where.keyPair ? "https" : "http";
  const { isDatabaseUp } = options;
  const ops = createOpsListener({
    tenantId,
    auditKeyId: options.auditKeyId,
    scheme,
    metrics,
    isDraining: () => door.draining,
    isDatabaseUp,
  });
  // An error that nobody listens for ends the process, and one connection too many (EMFILE) is enough for one.
  for (const one of [server, ops]) one.on("error", (error) => log.error({ err: error }, "The listener failed"));
  const opsHost = where.opsHost ?? "127.0.0.1";
  const port = await listen(server, where.host, where.port);
  const opsPort = await listen(ops, opsHost, where.opsPort).catch((error) => {
    server.close();
    throw error;
  });
  const forget = setInterval(() => {
    // What is not done now is done a minute later.
    for (const one of [forgetOldCounts, forgetOldAnswers]) one(read).catch(() => {});
  }, FORGET_INTERVAL_MS).unref();
  const shutDown = async (): Promise<void> => {
    clearInterval(forget);
    hub?.close();
    await drain(server, door, endHandshakes, options.lastRequestMs);
    limiter.stop();
    await outgoing.close();
    ops.close();
    ops.closeAllConnections();
  };
  let closing: Promise<void> | undefined;
  return {
    url: urlOf(scheme, where.host, port),
    port,
    opsUrl: urlOf("http", opsHost, opsPort),
    opsPort,
    renew: (pair) => renewKeyPair(server, pair),
    close() {
      closing ??= shutDown();
      return closing;
    },
  };
}

/** Whoever creates, rotates or revokes a key here finds it so with the next request. */
function forgettingKeys(handlers: Handlers, ring: KeyRing): Handlers {
  const then = <Answer>(answer: Promise<Answer>) => answer.finally(() => ring.forget());
  const { createKey, rotateKey, revokeKey, applyConfig } = handlers;
  return {
    ...handlers,
    ...(createKey && { createKey: (input, caller) => then(createKey(input, caller)) }),
    ...(rotateKey && { rotateKey: (input, caller) => then(rotateKey(input, caller)) }),
    ...(revokeKey && { revokeKey: (input, caller) => then(revokeKey(input, caller)) }),
    ...(applyConfig && { applyConfig: (input, caller) => then(applyConfig(input, caller)) }),
  };
}

function widgetRoutes(
  options: EmbedOptions,
  playground: PlaygroundOptions | undefined,
  reader: FrameReader,
  keys: KeyRing,
): Route[] {
  const assets = readAssets();
  const traders = new Origins(options.allowedOrigins, options.baseUrl);
  const services = { options, assets, reader, keys, traders };
  return [
    ...assetRoutes(assets),
    ...embedRoutes(services),
    ...(playground ? [playgroundRoute(services, playground)] : []),
  ];
}

function keySetOf(jwt: JwtOptions, outgoing: OutgoingHttp, log: Logger): KeySet | undefined {
  if (jwt.algorithm === "HS256") return undefined;
  const onError = (error: unknown): void => log.warn({ err: error }, "The key set of user tokens cannot be read");
  return new KeySet(keySetLoader(jwt.jwks, outgoing), { onError });
}

/**
 * Lets every accepted request have its answer. `http.Server.close` would cut connections that look idle although a request
 * is on its way, so the port is closed by net's own `close`; connections then end with their next answer, or after a silence.
 */
async function drain(
  server: Server,
  door: FrontDoor,
  endHandshakes: () => void,
  lastRequestMs = LAST_REQUEST_MS,
): Promise<void> {
  door.draining = true;
  const closed = once(server, "close");
  NetServer.prototype.close.call(server);
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
  endHandshakes();
  // Nothing is left to close but the timer that checks for slow connections.
  server.close();
  await closed;
}

function urlOf(scheme: "http" | "https", host: string, port: number): string {
  const reachable = host === "0.0.0.0" || host === "::" ? "localhost" : host;
  return `${scheme}://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
}
