import type { OperationId } from "../contract/operations.ts";
import { wireFacts } from "../contract/wire-facts.ts";
import type { Seal } from "../domain/audit/audit-link.ts";
import { Fault, type FaultCode, isFaultCode } from "../domain/fault.ts";
import { isMapping } from "../domain/json/mapping.ts";
import type { Fetched } from "./fetch.ts";

const LONGEST_MESSAGE = 2000;

/** The audit entry that an answer names; undefined when the request wrote none. */
export function sealOf({ headers }: Fetched): Seal | undefined {
  const [seq = "", hash = "", ts = "", keyId = ""] = ["audit-seq", "audit-hash", "audit-time", "audit-key-id"].map(
    (name) => headers.get(name) ?? "",
  );
  return /^\d{1,15}$/.test(seq) && /^[0-9a-f]{64}$/.test(hash) ? { seq: BigInt(seq), hash, ts, keyId } : undefined;
}

/** Whole seconds to wait after a 429, between 1 and the length of the rate limit's window. */
export function retryAfterSec(response: Fetched): number {
  const seconds = Number(response.headers.get("retry-after") ?? 1);
  return Number.isFinite(seconds) ? Math.min(Math.max(Math.ceil(seconds), 1), 60) : 1;
}

/**
 * The error in an answer: the code of its `Error-Code` header and the text of its body, so that a command ends alike
 * through both doors. In an answer of another program, such as a proxy, the status decides the code.
 */
export function faultFrom(response: Fetched, body: unknown): Fault {
  const named = response.headers.get("error-code") ?? "";
  const code = isFaultCode(named) ? named : codeOfStatus(response.status);
  const message = errorText(body) ?? `The server answered with status ${response.status}`;
  const requestId = response.headers.get("request-id");
  const shown = code === "INTERNAL" && requestId ? `${message} (request ${requestId})` : message;
  return new Fault(code, shown, { detail: { status: response.status, requestId } });
}

/**
 * Whether a body can be the result of an operation: a list if the result is one, else an object with at least one of
 * its fields. A server of another version may lack some fields and have others.
 */
export function isResultOf(id: OperationId, body: unknown): boolean {
  const { answers } = wireFacts[id];
  if (answers === "list") return Array.isArray(body);
  if (answers === "anything") return body !== undefined;
  return isMapping(body) && answers.some((field) => Object.hasOwn(body, field));
}

const CODES: Readonly<Record<number, FaultCode>> = {
  401: "KEY_INVALID",
  403: "FORBIDDEN",
  404: "NOT_FOUND",
  429: "RATE_LIMITED",
};

function codeOfStatus(status: number): FaultCode {
  const code = CODES[status];
  if (code !== undefined) return code;
  // Timeouts, redirects and gateway errors do not come from a pmctl server.
  if (status < 400 || status === 408 || (status >= 502 && status <= 504)) return "UNREACHABLE";
  return status < 500 ? "BAD_REQUEST" : "INTERNAL";
}

function errorText(body: unknown): string | undefined {
  if (!isMapping(body) || !("error" in body) || typeof body.error !== "string") return undefined;
  return body.error.slice(0, LONGEST_MESSAGE);
}

/** How a request failed without an answer. */
export interface ConnectionFailure {
  /** For people, such as "connection refused". */
  reason: string;
  /** True when the request certainly did not reach the server. */
  neverSent: boolean;
}

const NEVER_SENT: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ENOTFOUND: "no such host",
  EAI_AGAIN: "the name cannot be resolved",
  EHOSTUNREACH: "no route to the host",
  ENETUNREACH: "no network",
  UND_ERR_CONNECT_TIMEOUT: "no connection in time",
  // The socket of a server that has ended.
  ENOENT: "the server has ended",
};

const HOW_TO_TRUST = "; to trust it, set NODE_EXTRA_CA_CERTS to a file with the certificate";

/** Certificates without a trusted authority. An expired one, or one for another host, cannot be made trusted. */
function isUnknown(code: string): boolean {
  return /SELF_SIGNED|UNABLE_TO_(VERIFY_LEAF|GET_ISSUER)/.test(code);
}

/** Whether the connection failed because of the other end's TLS certificate. */
export function isCertificateRefusal(code: string): boolean {
  return /CERT|SSL|TLS|SIGNATURE/.test(code);
}

/** Classifies an error of `fetch`. An error that is not about the connection is our bug, and is thrown again. */
export function connectionFailure(error: unknown): ConnectionFailure {
  if (error instanceof DOMException && error.name === "TimeoutError")
    return { reason: "no answer in time", neverSent: false };
  if (!(error instanceof TypeError) || error.cause === undefined) throw error;
  const code = codeOf(error.cause);
  // `fetch` refuses the ports of other protocols, without a code.
  if (error.cause instanceof Error && error.cause.message === "bad port")
    return { reason: "fetch does not connect to this port", neverSent: true };
  const early = NEVER_SENT[code];
  if (early !== undefined) return { reason: early, neverSent: true };
  if (/^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/.test(code))
    return { reason: "it does not speak TLS; is its address http://?", neverSent: true };
  // The handshake comes before the request, so an untrusted certificate stops the request.
  if (isCertificateRefusal(code))
    return {
      reason: `its certificate is not accepted (${code})${isUnknown(code) ? HOW_TO_TRUST : ""}`,
      neverSent: true,
    };
  return { reason: "the connection was lost", neverSent: false };
}

function codeOf(cause: unknown): string {
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : "";
}
