import type { H3Event } from "h3";
import type { Logger } from "pino";
import { type HostNames, requestedHost } from "../domain/access/host-names.ts";
import { Fault } from "../domain/fault.ts";
import { monotonicMs, wallClockMs } from "../domain/time/clock.ts";
import type { ApiKey } from "../engine/rows.ts";
import { bucketOf, type ClientKind } from "../ledger/unchained/request-count.ts";
import { type RefusalLog, shownDetail, TOKEN_REFUSALS } from "../services/security/refusal-log.ts";
import type { SecurityLog } from "../services/security/security-log.ts";
import { adminKeyOf } from "./access/authenticate.ts";
import type { Cors } from "./access/cors.ts";
import type { KeyRing } from "./access/key-ring.ts";
import { isBodyOutstanding } from "./body.ts";
import type { ClientAddresses } from "./client-address.ts";
import type { Connections } from "./connections/connections.ts";
import { MOST_REFUSED_SIGN_INS } from "./console/sign-in-limit.ts";
import { type Attempt, Exchange } from "./exchange.ts";
import { requestLogger } from "./observe/log.ts";
import type { Metrics } from "./observe/metrics.ts";
import { noteRequest } from "./observe/security-watch.ts";
import type { RateLimiter, Standing } from "./rate-limiter.ts";
import {
  type Answer,
  addHeaders,
  addRateLimit,
  type Header,
  type RawHeaders,
  refusal,
  securityHead,
  send,
  toFault,
} from "./responses.ts";
import type { Route } from "./routes.ts";
import type { TenantOptions } from "./tenant-options.ts";

type Options = Pick<TenantOptions, "rateLimit" | "strictTransport" | "log" | "onAnswered">;

export interface FrontDoorOptions extends Options {
  /** The hosts that are answered; an empty list allows every host. */
  hosts: HostNames;
  /** Replaces the check of the host and the count of requests. */
  admit?: ((exchange: Exchange, route: Route) => void) | undefined;
  /** In every answer. */
  headers?: readonly Header[];
  addresses: ClientAddresses;
  connections: Connections;
  limiter: RateLimiter;
  /** Finds the admin key by which a request is counted. */
  keys: KeyRing;
  cors: Cors;
  metrics: Metrics;
  refusals: RefusalLog;
  security: SecurityLog;
}

/** Preflights cost less than requests, and a page may send one before each request. */
const PREFLIGHTS_PER_REQUEST = 10;

/**
 * Many readers share one address, and one page has several widgets. Their reads are cheap: memory answers them, and
 * browsers cache them.
 */
const EMBED_PER_MINUTE = 600;

/** Requests per minute of each kind of client; undefined for a kind that is counted by its address. */
export function limitsOf({ perMinute, adminPerMinute, webhooksPerMinute, embedPerMinute }: Options["rateLimit"]) {
  return {
    ...{ address: perMinute, admin: adminPerMinute, webhook: webhooksPerMinute },
    embed: embedPerMinute ?? Math.max(EMBED_PER_MINUTE, perMinute),
    options: perMinute * PREFLIGHTS_PER_REQUEST,
    console: MOST_REFUSED_SIGN_INS,
  } satisfies Record<ClientKind, number | undefined>;
}

/** One year, for this host alone: its subdomains may serve plain HTTP (RFC 6797). */
const STRICT_TRANSPORT = ["strict-transport-security", "max-age=31536000"] as const;

/**
 * Every request passes through here. A request for an unknown host is refused and learns nothing about this tenant. All
 * others are counted, to limit the guessing of keys and paths. Then the route answers, and every answer gets the same
 * headers.
 */
export class FrontDoor {
  readonly #options: FrontDoorOptions;
  readonly #limits: ReturnType<typeof limitsOf>;
  readonly #requestLog: Logger;
  /** The number of requests without an answer yet. */
  inFlight = 0;
  /** Set while the server shuts down: each answer then ends its connection. */
  draining = false;

  constructor(options: FrontDoorOptions) {
    this.#options = options;
    this.#limits = limitsOf(options.rateLimit);
    this.#requestLog = requestLogger(options.log);
  }

  /** The h3 handler of a route. It never throws, so h3's own error bodies are never seen. */
  handler(route: Route): (event: H3Event) => Promise<Response> {
    const { admit, addresses } = this.#options;
    const name = route.name ?? route.path;
    const metrics = this.#options.metrics.requests.forRoute(name, route.method || "any", route.trades === true);
    return async (event) => {
      const exchange = new Exchange(event, name, addresses);
      this.inFlight += 1;
      let answer: Answer;
      let fault: Fault | undefined;
      try {
        if (admit) admit(exchange, route);
        else {
          this.#requireHost(exchange);
          const counting = this.#countOf(exchange, route);
          if (counting) await counting;
        }
        answer = await route.answer(exchange);
      } catch (error) {
        fault = toFault(error);
        if (fault.status >= 500) this.#log(exchange, route, fault);
        this.#remember(exchange, route, fault);
        answer = (fault.code !== "UNKNOWN_HOST" && route.refuse?.(exchange, fault)) || refusal(fault);
      }
      this.inFlight -= 1;
      const result = fault?.code ?? (answer.replayed ? "REPLAYED" : undefined);
      const seconds = (monotonicMs() - exchange.startedAt) / 1000;
      metrics.observe(answer.status, seconds, result);
      this.#options.onAnswered?.(exchange, answer.status, seconds, fault);
      noteRequest(this.#options.security, exchange, fault);
      return send(exchange.res, answer, this.#head(exchange, route, answer), exchange.isHead);
    };
  }

  /**
   * Counts a request in its client's window.
   * @param signed whether it is a webhook with a valid signature
   * @returns undefined if it is counted already, which saves most requests a microtask
   * @throws Fault RATE_LIMITED
   */
  count(exchange: Exchange, signed: boolean): Promise<void> | undefined {
    if (exchange.isCommand) return undefined;
    return this.#take(exchange, signed && this.#limits.webhook !== undefined ? "webhook" : "address");
  }

  /** @throws Fault UNKNOWN_HOST */
  #requireHost({ req, isCommand }: Exchange): void {
    const { hosts } = this.#options;
    if (!isCommand && !hosts.isEmpty && !hosts.has(requestedHost(req.url, req.headers.host))) throw unknownHost();
  }

  #countOf(exchange: Exchange, route: Route): Promise<void> | undefined {
    if (exchange.isCommand) return undefined;
    if (exchange.req.method === "OPTIONS") return this.#take(exchange, "options");
    if (route.countsItself) return undefined;
    if (route.bucket === "embed") return this.#take(exchange, "embed");
    if (this.#limits.admin === undefined) return this.count(exchange, false);
    const countBy = (key: ApiKey | undefined): Promise<void> | undefined =>
      key ? this.#take(exchange, "admin", key.hash) : this.count(exchange, false);
    const key = adminKeyOf(exchange, this.#options);
    return key instanceof Promise ? key.then(countBy) : countBy(key);
  }

  /** Counts bytes that are not a request in the bucket of their address, whose requests are refused too if it sends many. */
  countUnparsed(address: string): void {
    void this.#options.limiter.take(address, this.#limits.address);
  }

  #take(exchange: Exchange, kind: ClientKind, client = exchange.address): Promise<void> | undefined {
    const taken = this.#options.limiter.take(bucketOf(kind, client), this.#limits[kind] ?? this.#limits.address);
    if (taken instanceof Promise) return taken.then((standing) => admit(exchange, standing));
    admit(exchange, taken);
    return undefined;
  }

  /** Remembers only refusals of callers with a known key, so that others cannot displace them. */
  #remember(exchange: Exchange, route: Route, fault: Fault): void {
    const { requestId, attempt = refusedToken(exchange, route, fault) } = exchange;
    const { status, code, message, detail } = fault;
    if (!attempt) return;
    this.#options.refusals.remember({
      ...attempt,
      requestId,
      ts: wallClockMs(),
      status,
      code,
      error: message,
      // The detail of an internal error is for the log only; the tenant can mend its key set.
      detail: status < 500 || code === "TOKEN_KEYS_UNAVAILABLE" ? shownDetail(detail) : {},
    });
  }

  #head(exchange: Exchange, route: Route, answer: Answer): RawHeaders {
    const head = securityHead(answer);
    head.push("request-id", exchange.requestId);
    if (exchange.standing) addRateLimit(head, exchange.standing);
    if (answer.headers) addHeaders(head, answer.headers);
    if (route.forBrowsers) addHeaders(head, this.#options.cors.headers(exchange.header("origin")));
    if (this.#options.headers) addHeaders(head, this.#options.headers);
    if (this.#isStrict(exchange)) head.push(...STRICT_TRANSPORT);
    if (this.#endsConnection(exchange, answer)) head.push("connection", "close");
    return head;
  }

  #isStrict({ req: { socket, headers } }: Exchange): boolean {
    const { strictTransport, addresses } = this.#options;
    if (strictTransport !== "forwarded") return strictTransport === true;
    return addresses.schemeOf(socket.remoteAddress, headers["x-forwarded-proto"]) === "https";
  }

  /** Ends the connection of a client that is refused too often; the body of a refused request stays unread. */
  #endsConnection({ req }: Exchange, { status }: Answer): boolean {
    if (status < 400) return this.draining;
    const { connections } = this.#options;
    const isUnread = isBodyOutstanding(req);
    if (isUnread) connections.leaveUnread(req);
    const isTooMuch = status === 429 && connections.refusedByRate(req.socket);
    return isUnread || isTooMuch || this.draining;
  }

  #log(exchange: Exchange, route: Route, fault: Fault): void {
    this.#requestLog.error(
      {
        requestId: exchange.requestId,
        code: fault.code,
        route: `${route.method} ${exchange.route}`,
        headers: exchange.req.headers,
        detail: fault.detail,
        err: fault.cause ?? fault,
      },
      fault.message,
    );
  }
}

/** The error for a host without a tenant. */
export function unknownHost(): Fault {
  return new Fault("UNKNOWN_HOST", "No tenant is served under this host");
}

/** The attempt of a caller with a known key and a bad token. Reads without a token come from pages that check for a user. */
function refusedToken({ key, req }: Exchange, { operation }: Route, { code, detail }: Fault): Attempt | undefined {
  if (!TOKEN_REFUSALS.includes(code) || !key || operation === undefined) return undefined;
  if (detail.fault === "no-token" && (req.method === "GET" || req.method === "HEAD")) return undefined;
  return { operation, actor: `${key.type}:${key.name}`, userId: null, marketId: null };
}

/** @throws Fault RATE_LIMITED */
function admit(exchange: Exchange, standing: Standing): void {
  exchange.standing = standing;
  if (!standing.allowed)
    throw new Fault("RATE_LIMITED", "Too many requests: see Retry-After", { retryAfterSec: standing.resetSec });
}
