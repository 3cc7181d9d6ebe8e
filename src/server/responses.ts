import { STATUS_CODES } from "node:http";
import type { Writable } from "node:stream";
import { FastResponse } from "srvx";
import { Fault, type FaultCode } from "../domain/fault.ts";
import type { Standing } from "./rate-limiter.ts";

/** What a response may be made of. */
type Body = ConstructorParameters<typeof FastResponse>[0];

export type Header = readonly [name: string, value: string];

/** What a route answers; the front door adds the headers that every response carries. */
export interface Answer {
  status: number;
  /** JSON text; empty for a preflight, and for HEAD of what has no length; bytes when compressed or kept; a stream for what does not answer once. */
  body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
  /** When it is not JSON. */
  contentType?: string;
  /** When it is a page that may show more than nothing. */
  contentSecurityPolicy?: string;
  /** When it may be kept. */
  cacheControl?: string;
  headers?: readonly Header[];
}

/** Nothing here is a page: no response may be cached, sniffed, framed, or run anything. */
export const SECURITY_HEADERS: readonly Header[] = [
  ["content-type", "application/json"],
  ["cache-control", "no-store"],
  ["x-content-type-options", "nosniff"],
  ["content-security-policy", "default-src 'none'; frame-ancestors 'none'"],
  ["referrer-policy", "no-referrer"],
];

/** The headers of every response, with what a page or a stream states differently. */
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

/** @param body JSON that stands already */
export function written(body: string, headers?: readonly Header[]): Answer {
  return headers ? { status: 200, body, headers } : { status: 200, body };
}

/** A refusal as it travels: one key for people, the `Error-Code` header for programs. */
export function refusal(fault: Fault): Answer {
  const headers: Header[] = [["error-code", fault.code]];
  if (fault.status === 429) headers.push(["retry-after", String(fault.retryAfterSec ?? 1)]);
  return { status: fault.status, body: errorBody(fault.message), headers };
}

export function errorBody(message: string): string {
  return JSON.stringify({ error: message });
}

/** What was thrown, as a refusal: anything but a Fault is our bug, and its message is for the log only. */
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
 * @param isHead leaves the body out and states its length all the same; a stream has none
 */
export function toResponse({ status, body }: Answer, headers: readonly Header[], isHead = false): Response {
  const init = { status, statusText: STATUS_CODES[status] ?? "" };
  if (isHead && body !== "") {
    const length: Header[] =
      body instanceof ReadableStream ? [] : [["content-length", String(Buffer.byteLength(body))]];
    return new FastResponse(null, { ...init, headers: [...headers, ...length] as [string, string][] });
  }
  if (body instanceof ReadableStream)
    return new FastResponse(body, { ...init, headers: headers as [string, string][] });
  if (body === "") return new FastResponse(null, { ...init, headers: headers as [string, string][] });
  const measured = [...headers, ["content-length", String(Buffer.byteLength(body))]] as [string, string][];
  return new FastResponse(new WholeBody(body) as unknown as Body, { ...init, headers: measured });
}

/**
 * A body that leaves in one write together with its headers. srvx writes a plain text after them, which costs a second
 * buffer and a third of what a small answer takes; to a body that has `pipe` it hands the response instead.
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

/** A complete HTTP/1.1 response as text, for sockets on which Node made no request. */
export function rawResponse(status: number, code: FaultCode, message: string, requestId: string): string {
  const body = errorBody(message);
  const headers: Header[] = [
    ...SECURITY_HEADERS,
    ["error-code", code],
    ["request-id", requestId],
    ["content-length", String(Buffer.byteLength(body))],
    ["connection", "close"],
  ];
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}\r\n${body}`;
}
