import type { H3Event } from "h3";
import type { Logger } from "pino";
import { Fault } from "../domain/fault.ts";
import { monotonicMs, wallClockMs } from "../domain/time/clock.ts";
import { type RefusalLog, shownDetail } from "../services/security/refusal-log.ts";
import type { SecurityLog } from "../services/security/security-log.ts";
import { isBodyOutstanding } from "./body.ts";
import type { ClientAddresses } from "./client-address.ts";
import type { Connections } from "./connections/connections.ts";
import type { Cors } from "./cors.ts";
import { Exchange } from "./exchange.ts";
import { requestLogger } from "./observe/log.ts";
import type { Metrics } from "./observe/metrics.ts";
import { noteRequest } from "./observe/security-watch.ts";
import type { RateLimiter } from "./rate-limiter.ts";
import {
  type Answer,
  type Header,
  rateLimitHeaders,
  refusal,
  securityHeaders,
  toFault,
  toResponse,
} from "./responses.ts";
import type { Route } from "./routes.ts";

export interface FrontDoorOptions {
  addresses: ClientAddresses;
  connections: Connections;
  limiter: RateLimiter;
  limits: { perMinute: number; webhooksPerMinute?: number | undefined };
  cors: Cors;
  metrics: Metrics;
  refusals: RefusalLog;
  security: SecurityLog;
  /** Whether browsers are told to come back by HTTPS only: always, or where a trusted proxy says that they came by it. */
  strictTransport?: StrictTransport | undefined;
  log: Logger;
}

export type StrictTransport = boolean | "forwarded";

/** Preflights cost less than requests, and a page may send one before each of them. */
const PREFLIGHTS_PER_REQUEST = 10;
/** Commands ask for a proof once per connection. */
const PROOFS_PER_REQUEST = 10;

/** A year, for this host alone: what its subdomains speak is not ours to say (RFC 6797). */
const STRICT_TRANSPORT: Header = ["strict-transport-security", "max-age=31536000"];

/**
 * What every request passes: it is counted first, so that guessing keys or paths is limited too; then
 * its route answers or refuses; and every outcome becomes JSON with the same headers.
 */
export class FrontDoor {
  readonly #options: FrontDoorOptions;
  readonly #requestLog: Logger;
  /** Requests whose answer is not there yet. */
  inFlight = 0;
  /** Set while the server shuts down: each answer then ends its connection. */
  draining = false;

  constructor(options: FrontDoorOptions) {
    this.#options = options;
    this.#requestLog = requestLogger(options.log);
  }

  /** The h3 handler of a route. It never throws, so h3's own error bodies are never seen. */
  handler(route: Route): (event: H3Event) => Promise<Response> {
    const metrics = this.#options.metrics.requests.forRoute(route.path, route.method || "any", route.trades === true);
    return async (event) => {
      const exchange = new Exchange(event, route.path, this.#options.addresses);
      this.inFlight += 1;
      let answer: Answer;
      let fault: Fault | undefined;
      try {
        if (exchange.req.method === "OPTIONS") await this.#countPreflight(exchange);
        else if (!route.countsItself) await this.count(exchange, false);
        answer = await route.answer(exchange);
      } catch (error) {
        fault = toFault(error);
        if (fault.status >= 500) this.#log(exchange, route, fault);
        this.#remember(exchange, fault);
        answer = route.refuse?.(exchange, fault) ?? refusal(fault);
      }
      this.inFlight -= 1;
      metrics.observe(answer.status, (monotonicMs() - exchange.startedAt) / 1000, fault?.code);
      noteRequest(this.#options.security, exchange, fault);
      return toResponse(answer, this.#headers(exchange, route, answer), exchange.isHead);
    };
  }

  /**
   * Counts a request in its client's window.
   * @param signed whether it is a webhook whose signature holds
   * @throws Fault RATE_LIMITED
   */
  async count(exchange: Exchange, signed: boolean): Promise<void> {
    const { limits } = this.#options;
    const { address } = exchange;
    if (signed && limits.webhooksPerMinute !== undefined)
      await this.#take(exchange, `webhook ${address}`, limits.webhooksPerMinute);
    else await this.#take(exchange, address, limits.perMinute);
  }

  /** Counts what an address sent that is no request; an address that sends much of it is refused its requests too. */
  countUnparsed(address: string): void {
    void this.#options.limiter.take(address, this.#options.limits.perMinute);
  }

  /**
   * Counts a proof that a command of this machine asks for. Apart from requests: neither keeps the other out.
   * @returns whether it may have one
   */
  async countProof(address: string): Promise<boolean> {
    const limit = this.#options.limits.perMinute * PROOFS_PER_REQUEST;
    const { allowed } = await this.#options.limiter.take(`proof ${address}`, limit);
    return allowed;
  }

  async #countPreflight(exchange: Exchange): Promise<void> {
    const { perMinute } = this.#options.limits;
    await this.#take(exchange, `options ${exchange.address}`, perMinute * PREFLIGHTS_PER_REQUEST);
  }

  async #take(exchange: Exchange, bucket: string, limit: number): Promise<void> {
    const taken = this.#options.limiter.take(bucket, limit);
    const standing = taken instanceof Promise ? await taken : taken;
    exchange.standing = standing;
    if (!standing.allowed)
      throw new Fault("RATE_LIMITED", "Too many requests: see Retry-After", { retryAfterSec: standing.resetSec });
  }

  /** Only of authenticated callers, so that anonymous ones cannot push traders' refusals out of the memory. */
  #remember({ requestId, attempt }: Exchange, { status, code, message, detail }: Fault): void {
    if (!attempt) return;
    this.#options.refusals.remember({
      ...attempt,
      requestId,
      ts: wallClockMs(),
      status,
      code,
      error: message,
      // The detail of a failure of ours is for the log.
      detail: status < 500 ? shownDetail(detail) : {},
    });
  }

  #headers(exchange: Exchange, route: Route, answer: Answer): Header[] {
    const headers: Header[] = [...securityHeaders(answer), ["request-id", exchange.requestId]];
    if (exchange.standing) headers.push(...rateLimitHeaders(exchange.standing));
    if (answer.headers) headers.push(...answer.headers);
    if (route.forBrowsers) headers.push(...this.#options.cors.headers(exchange.header("origin")));
    if (this.#isStrict(exchange)) headers.push(STRICT_TRANSPORT);
    if (this.#endsConnection(exchange, answer)) headers.push(["connection", "close"]);
    return headers;
  }

  /** The first scheme is the one that the client used: each further proxy adds its own behind it. */
  #isStrict(exchange: Exchange): boolean {
    const { strictTransport, addresses } = this.#options;
    if (strictTransport !== "forwarded") return strictTransport === true;
    const scheme = exchange.header("x-forwarded-proto")?.split(",", 1)[0]?.trim().toLowerCase();
    return scheme === "https" && addresses.peer(exchange.req.socket.remoteAddress ?? "").trusted;
  }

  /** Ends the connection of a client that is refused too often; the body of a refused request is never read. */
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
        route: `${route.method} ${route.path}`,
        headers: exchange.req.headers,
        detail: fault.detail,
        err: fault.cause ?? fault,
      },
      fault.message,
    );
  }
}
