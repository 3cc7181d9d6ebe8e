import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Api, OperationId } from "../contract/operations.ts";
import { wireFacts } from "../contract/wire-facts.ts";
import { fingerprintOf, type RelativeTimes } from "../domain/access/idempotency.ts";
import type { Seal } from "../domain/audit/audit-link.ts";
import { Fault } from "../domain/fault.ts";
import { parseLossless } from "../domain/json/exact-json.ts";
import { parseJson } from "../domain/json/parse-json.ts";
import type { Fetch, Fetched } from "./fetch.ts";
import { connectionFailure, faultFrom, isResultOf, retryAfterSec, sealOf } from "./http-answer.ts";
import { type WireRequest, wireRequest } from "./http-request.ts";
import { Pace, waitText } from "./pace.ts";

export interface HttpApiOptions {
  /** The server's address, such as `http://127.0.0.1:8080`. */
  url: string;
  apiKey: string;
  /** Returns the token of the user for whom user operations are called. */
  userToken?: (() => Promise<string>) | undefined;
  /** The reason in the audit entry of each change. */
  reason?: string | undefined;
  /** The key under which a change is made once: a repeat gets the first answer. A new key per call unless given. */
  idempotencyKey?: string | undefined;
  /** Fields whose instants may differ in a repeat under the key. */
  relativeTimes?: RelativeTimes | undefined;
  /** Policy changes expire after this many seconds. */
  policyTtlSec?: number | undefined;
  /** The policy is changed only in this version. */
  expectVersion?: number | undefined;
  /** Called with the reason before each wait for a rate limit or a lost connection. */
  onWait?: ((message: string) => void) | undefined;
  /** How the caller could avoid a wait for a rate limit, such as another way to the tenant; added to long waits. */
  insteadOfWaiting?: string | undefined;
  /** Receives the audit entry that a call wrote. */
  onSealed?: ((seal: Seal) => void) | undefined;
  sleep?: (ms: number) => Promise<unknown>;
  /** What to do when the server does not know the key; added to its error. */
  unknownKeyHint?: string | undefined;
  /** Verifies the server before it sends the key. */
  fetch: Fetch;
}

/** Longer than the server's own limits, so that the server answers first. */
const TIMEOUT_MS = 30_000;
/** Each wait is up to a minute long. */
const MAX_RATE_LIMIT_WAITS = 3;
const RECONNECT_PAUSES_MS = [200, 1000];

/**
 * The operations of a running server. Every method rejects with the server's Fault, or with UNREACHABLE (no answer, and
 * nothing happened) or OUTCOME_UNKNOWN (no answer to a request that changes something).
 */
export function httpApi(options: HttpApiOptions): Api {
  const server = options.url.replace(/\/+$/, "");
  const pace = new Pace(options);
  const methods = Object.keys(wireFacts).map((id) => [
    id,
    (input: Record<string, unknown>, named?: string) =>
      new Call(server, id as OperationId, options, pace).run(input, named),
  ]);
  return Object.fromEntries(methods) as Api;
}

/** One call of an operation, with its repeats. */
class Call {
  readonly #server: string;
  readonly #id: OperationId;
  readonly #options: HttpApiOptions;
  readonly #pace: Pace;
  /** The same key in every repeat, so that a write with a lost answer is not done twice. */
  readonly #idempotencyKey: string | undefined;

  constructor(server: string, id: OperationId, options: HttpApiOptions, pace: Pace) {
    this.#server = server;
    this.#id = id;
    this.#options = options;
    this.#pace = pace;
    this.#idempotencyKey = wireFacts[id].writes ? (options.idempotencyKey ?? randomUUID()) : undefined;
  }

  /** @param named the fingerprint of the request, if the input differs in a repeat */
  async run(input: Record<string, unknown>, named?: string): Promise<unknown> {
    const { sleep = delay, onWait } = this.#options;
    const request = wireRequest(this.#id, input);
    const headers = await this.#headers(request, named);
    for (let waits = 0, losses = 0; ; ) {
      try {
        await this.#pace.wait();
        const { response, body } = await this.#send(request, headers);
        if (response.status !== 429) this.#pace.note(response);
        if (response.ok || (wireFacts[this.#id].health && response.status === 503)) return this.#result(response, body);
        const fault = this.#faultFrom(response, body);
        if (response.status === 429 && waits < MAX_RATE_LIMIT_WAITS) {
          waits += 1;
          const waitMs = retryAfterSec(response) * 1000;
          onWait?.(`${fault.message}: trying again in ${waitText(waitMs, this.#options)}`);
          await sleep(waitMs);
        } else if (fault.code === "OUTCOME_UNKNOWN") throw new AnswerLost(fault.message, false);
        else throw fault;
      } catch (error) {
        if (!(error instanceof AnswerLost)) throw error;
        const pauseMs = RECONNECT_PAUSES_MS[losses];
        if (error.neverSent || !this.#mayRepeat(request) || pauseMs === undefined)
          throw this.#giveUp(request, error, error.neverSent && losses === 0);
        losses += 1;
        onWait?.(`${error.message}: trying again`);
        await sleep(pauseMs);
      }
    }
  }

  async #headers({ body }: WireRequest, named: string | undefined): Promise<Record<string, string>> {
    const { apiKey, userToken, reason, policyTtlSec, expectVersion, relativeTimes } = this.#options;
    const headers: Record<string, string> = { "x-api-key": apiKey, accept: "application/json" };
    if (body !== undefined) headers["content-type"] = "application/json";
    if (this.#idempotencyKey) headers["idempotency-key"] = this.#idempotencyKey;
    const fingerprint = named ?? fingerprintOf(body ?? "", relativeTimes);
    if (fingerprint !== undefined) headers["idempotency-fingerprint"] = fingerprint;
    // A header contains bytes, and the server reads them as UTF-8, because an operator writes in any script.
    if (reason !== undefined) headers["audit-reason"] = Buffer.from(reason).toString("latin1");
    const operation = wireFacts[this.#id];
    if (operation.temporary && policyTtlSec !== undefined) headers["policy-ttl"] = String(policyTtlSec);
    if (operation.temporary && expectVersion !== undefined) headers["if-match"] = `"${expectVersion}"`;
    if (userToken && (operation.auth === "user" || operation.optionalUser))
      headers.authorization = `Bearer ${await userToken()}`;
    return headers;
  }

  /** @throws AnswerLost without a complete answer */
  async #send(
    { method, target, body }: WireRequest,
    headers: Record<string, string>,
  ): Promise<{ response: Fetched; body: unknown }> {
    const { fetch: request } = this.#options;
    try {
      const response = await request(this.#server + target, {
        method,
        headers,
        ...(body === undefined ? {} : { body }),
        // The key must not follow a redirect to another host.
        redirect: "manual",
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      return { response, body: parseJson(await response.text(), parseLossless) };
    } catch (error) {
      const { reason, neverSent } = connectionFailure(error);
      throw new AnswerLost(`Cannot reach ${this.#server}: ${reason}`, neverSent, error);
    }
  }

  #faultFrom(response: Fetched, body: unknown): Fault {
    const { unknownKeyHint } = this.#options;
    const fault = faultFrom(response, body);
    if (fault.code !== "KEY_INVALID" || unknownKeyHint === undefined) return fault;
    return new Fault(fault.code, `${fault.message}: ${unknownKeyHint}`, { detail: fault.detail });
  }

  #result(response: Fetched, body: unknown): unknown {
    const isOther = body === undefined ? "not JSON" : isResultOf(this.#id, body) ? undefined : "to another question";
    if (isOther !== undefined)
      throw new Fault("UNREACHABLE", `${this.#server} does not answer like a pmctl server: its answer is ${isOther}`);
    const seal = sealOf(response);
    if (seal) this.#options.onSealed?.(seal);
    if (!wireFacts[this.#id].paged) return body;
    return { items: body, nextCursor: response.headers.get("next-cursor") };
  }

  #mayRepeat({ method }: WireRequest): boolean {
    return method === "GET" || this.#idempotencyKey !== undefined;
  }

  /** @param nothingSent by this attempt and the earlier ones */
  #giveUp({ method }: WireRequest, { message, cause }: AnswerLost, nothingSent: boolean): Fault {
    if (nothingSent || method === "GET") return new Fault("UNREACHABLE", message, { cause });
    return new Fault("OUTCOME_UNKNOWN", `${message}; it may have been made: look at \`pmctl audit list\` first`, {
      cause,
    });
  }
}

/** The request failed, or its answer does not say what happened. */
class AnswerLost extends Error {
  readonly neverSent: boolean;

  constructor(message: string, neverSent: boolean, cause?: unknown) {
    super(message, { cause });
    this.neverSent = neverSent;
  }
}
