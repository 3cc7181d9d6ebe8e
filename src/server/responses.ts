import { STATUS_CODES } from "node:http";
import type { Writable } from "node:stream";
import { FastResponse } from "srvx";
import { Fault } from "../domain/fault.ts";
import type { Standing } from "./rate-limiter.ts";

/** Whatever a response accepts as its body. */
type Body = ConstructorParameters<typeof FastResponse>[0];

export type Header = readonly [name: string, value: string];

/** What a route answers; the front door adds the headers that every response carries. */
export interface Answer {
  status: number;
  /** JSON text; empty for a preflight, and for HEAD of a stream; bytes when compressed or reused; a stream of events. */
  body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
  /** JSON unless given. */
  contentType?: string;
  /** Stated by pages; any other answer may load nothing. */
  contentSecurityPolicy?: string;
  /** Stated by answers that caches may keep. */
  cacheControl?: string;
  headers?: readonly Header[];
}

/** The usual answer is no page: it may not be cached, sniffed, framed, or run anything. */
export const SECURITY_HEADERS: readonly Header[] = [
  ["content-type", "application/json"],
  ["cache-control", "no-store"],
  ["x-content-type-options", "nosniff"],
  ["content-security-policy", "default-src 'none'; frame-ancestors 'none'"],
  ["referrer-policy", "no-referrer"],
];

/** The headers of every response, some of which a page or a stream replaces. */
export function securityHeaders({ contentType, contentSecurityPolicy, cacheControl }: Answer): readonly Header[] {
  if (contentType === undefined && contentSecurityPolicy === undefined) return SECURITY_HEADERS;
  const instead: Record<string, string | undefined> = {
    "content-type": contentType,
    "content-security-policy": contentSecurityPolicy,
    "cache-control": cacheControl,
  };
  return SECURITY_HEADERS.map(([name, value]) => [name, instead[name] ?? value]);
}

export function ok(value: unknown, headers?: readonly Header[]): Answer {
  return written(JSON.stringify(value), headers);
}

/** @param body JSON text */
export function written(body: string, headers?: readonly Header[]): Answer {
  return headers ? { status: 200, body, headers } : { status: 200, body };
}

/** A refusal over HTTP: a text for people in the body, a code for programs in the `Error-Code` header. */
export function refusal(fault: Fault): Answer {
  const headers: Header[] = [["error-code", fault.code]];
  if (fault.status === 429) headers.push(["retry-after", String(fault.retryAfterSec ?? 1)]);
  return { status: fault.status, body: errorBody(fault.message), headers };
}

export function errorBody(message: string): string {
  return JSON.stringify({ error: message });
}

/** An error as a refusal: anything but a Fault is our bug, and its message is for the log only. */
export function toFault(error: unknown): Fault {
  return error instanceof Fault ? error : new Fault("INTERNAL", "Unexpected failure", { cause: error });
}

export function rateLimitHeaders({ limit, remaining, resetSec }: Standing): Header[] {
  return [
    ["ratelimit-limit", String(limit)],
    ["ratelimit-remaining", String(remaining)],
    ["ratelimit-reset", String(resetSec)],
  ];
}

/**
 * srvx's own response keeps body and headers as they are; a web Response would stream the one and copy the other.
 * @param isHead leaves the body out but states its length; a stream has none
 */
export function toResponse({ status, body }: Answer, headers: readonly Header[], isHead = false): Response {
  const statusText = STATUS_CODES[status] ?? "";
  const respond = (content: Body, all = headers): Response =>
    new FastResponse(content, { status, statusText, headers: all as [string, string][] });
  if (body instanceof ReadableStream) return respond(isHead ? null : body);
  if (body === "") return respond(null);
  const measured: Header[] = [...headers, ["content-length", String(Buffer.byteLength(body))]];
  return respond(isHead ? null : (new WholeBody(body) as unknown as Body), measured);
}

/**
 * A body that is sent in one write together with its headers. srvx writes a plain text after them, which costs a second
 * buffer and a third of the time of a small answer; it hands the response to a body that has `pipe`.
 */
class WholeBody {
  readonly #body: string | Uint8Array;

  constructor(body: string | Uint8Array) {
    this.#body = body;
  }

  pipe(response: Writable): void {
    response.end(this.#body);
  }
}
