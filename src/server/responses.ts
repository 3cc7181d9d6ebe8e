import type { ServerResponse } from "node:http";
import { FastResponse } from "srvx";
import { sendNodeResponse } from "srvx/node";
import { Fault } from "../domain/fault.ts";
import type { Wire } from "../services/answers.ts";
import type { Standing } from "./rate-limiter.ts";

export type Header = readonly [name: string, value: string];

/** A route's answer; the front door adds the headers that every response has. */
export interface Answer {
  status: number;
  /**
   * JSON text; empty for a preflight and for HEAD of a stream; bytes if compressed or reused; a stream of events or
   * texts, because Node's response accepts texts as well as bytes.
   */
  body: string | Uint8Array<ArrayBuffer> | ReadableStream;
  /** The length of the body in bytes, for answers that share one text. */
  byteLength?: number;
  /** JSON by default. */
  contentType?: string;
  /** Set for pages; all other answers may load nothing. */
  contentSecurityPolicy?: string;
  /** Set for answers that caches may keep. */
  cacheControl?: string;
  headers?: readonly Header[];
  /** Whether this repeats the answer to an earlier request with the same key, without doing anything. */
  replayed?: true;
}

/** For answers that are not pages: they must not be cached, sniffed, framed, or run anything. */
export const SECURITY_HEADERS: readonly Header[] = [
  ["content-type", "application/json"],
  ["cache-control", "no-store"],
  ["x-content-type-options", "nosniff"],
  ["content-security-policy", "default-src 'none'; frame-ancestors 'none'"],
  ["referrer-policy", "no-referrer"],
];

/** Names and values alternate, as Node accepts them: pairs would cost an array per header. */
export type RawHeaders = string[];

/** Clients and caches may keep the answer, and ask each time whether it is current. */
export const REVALIDATED = "no-cache";

const USUAL_HEADERS: RawHeaders = SECURITY_HEADERS.flat();
const REVALIDATED_HEADERS = headersInstead({ cacheControl: REVALIDATED });

/** The first headers of every response; pages, streams and public reads replace some of them. */
export function securityHead(answer: Omit<Answer, "status" | "body">): RawHeaders {
  const { contentType, contentSecurityPolicy, cacheControl } = answer;
  if (contentType !== undefined || contentSecurityPolicy !== undefined) return headersInstead(answer);
  return cacheControl === REVALIDATED ? [...REVALIDATED_HEADERS] : [...USUAL_HEADERS];
}

function headersInstead(answer: Omit<Answer, "status" | "body">): RawHeaders {
  const instead: Record<string, string | undefined> = {
    "content-type": answer.contentType,
    "content-security-policy": answer.contentSecurityPolicy,
    "cache-control": answer.cacheControl,
  };
  return SECURITY_HEADERS.flatMap(([name, value]) => [name, instead[name] ?? value]);
}

export function ok(value: unknown, headers?: readonly Header[]): Answer {
  return written(JSON.stringify(value), headers);
}

/** @param body JSON text */
export function written(body: string, headers?: readonly Header[]): Answer {
  return headers ? { status: 200, body, headers } : { status: 200, body };
}

/** @param wire may be shared: its text is created and measured once */
export function wired({ text, byteLength }: Wire<unknown>, headers?: readonly Header[]): Answer {
  return headers ? { status: 200, body: text, byteLength, headers } : { status: 200, body: text, byteLength };
}

/** An error over HTTP: a text for people in the body, a code for programs in the `Error-Code` header. */
export function refusal(fault: Fault): Answer {
  const headers: Header[] = [["error-code", fault.code]];
  if (fault.status === 429 || fault.status === 503 || fault.retryAfterSec !== undefined)
    headers.push(["retry-after", String(fault.retryAfterSec ?? 1)]);
  return { status: fault.status, body: errorBody(fault.message), headers };
}

export function errorBody(message: string): string {
  return JSON.stringify({ error: message });
}

/** Converts an error to a Fault. Anything else is our bug, and its message is for the log only. */
export function toFault(error: unknown): Fault {
  return error instanceof Fault ? error : new Fault("INTERNAL", "Unexpected failure", { cause: error });
}

export function addHeaders(head: RawHeaders, headers: readonly Header[]): void {
  for (const [name, value] of headers) head.push(name, value);
}

export function addRateLimit(head: RawHeaders, { limit, remaining, resetSec }: Standing): void {
  head.push("ratelimit-limit", String(limit));
  head.push("ratelimit-remaining", String(remaining));
  head.push("ratelimit-reset", String(resetSec));
}

/** Passed to h3 for an answer that is already written. */
const WRITTEN = new FastResponse(null);

/**
 * Writes an answer's head and body into Node's response in one write. A web Response in between would copy both and
 * write them separately.
 * @param isHead omits the body but states its length; a stream has no length
 * @returns the return value of the h3 handler: the rest of the answer if it is a stream
 */
export function send(
  res: ServerResponse,
  { status, body, byteLength }: Answer,
  head: RawHeaders,
  isHead: boolean,
): Response {
  if (body instanceof ReadableStream && !isHead) {
    res.writeHead(status, head);
    return new FastResponse(body);
  }
  if (body === "" || body instanceof ReadableStream) {
    res.writeHead(status, head).end();
    return WRITTEN;
  }
  head.push("content-length", String(byteLength ?? Buffer.byteLength(body)));
  res.writeHead(status, head);
  if (isHead) res.end();
  else res.end(body);
  return WRITTEN;
}

/** Sends what `send` left: a stream, or an answer of h3 itself. */
export function sendRest(res: ServerResponse, response: Response): void {
  if (response !== WRITTEN) void sendNodeResponse(res, response);
}
