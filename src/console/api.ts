import { wireRequest } from "../client/http-request.ts";
import type { Api, OperationId } from "../contract/operations.ts";
import { wireFacts } from "../contract/wire-facts.ts";
import { together } from "./live/together.ts";
import { consolePath } from "./place.ts";
import { Refused, refusedBy, unreachable } from "./refused.ts";
import type { Session } from "./session.ts";

export interface ApiOptions {
  /** Sent with changes, for the audit log. */
  reason?: string;
  /** The same for each attempt at one change, so that it happens once. */
  idempotencyKey?: string;
  /** The tag of what was shown; the change is refused if the live one differs. */
  ifMatch?: string;
  /** After how many seconds a change of the policy ends by itself. */
  policyTtlSec?: number | undefined;
  /** A refresh of the page, which does not prolong the session. */
  isBackground?: boolean;
  /** Given when a read is no longer wanted. A change is never ended midway. */
  signal?: AbortSignal;
  /** Receives the headers of an answer that is no refusal, such as `Audit-Seq` after a change, and `ETag`. */
  onHeaders?(headers: Headers): void;
}

const TIMEOUT_MS = 30_000;
/** Of a long log, until the server has walked it once. */
const CHECK_TIMEOUT_MS = 10 * 60_000;
const CHECKS: ReadonlySet<OperationId> = new Set(["getAuditStatus", "reconcile", "explainLedger"]);

/** Called when the session has ended. @param why unless the person ended it here */
export type OnEnd = (why?: string) => void;

const ENDED =
  "Your session has ended: it was signed out in another tab, was unused for too long, or its key was revoked.";

/** The operations of the contract, under the session's cookie. Every method rejects with `Refused`. */
export function consoleApi(session: Session, onEnd: OnEnd, options: ApiOptions = {}): Api {
  const methods = Object.keys(wireFacts).map((id) => [
    id,
    (input: Record<string, unknown>) => send(id as OperationId, input, session, onEnd, options),
  ]);
  return Object.fromEntries(methods) as Api;
}

async function send(
  id: OperationId,
  input: Record<string, unknown>,
  session: Session,
  onEnd: OnEnd,
  options: ApiOptions,
): Promise<unknown> {
  const { method, target, body } = wireRequest(id, input);
  const ask = async (end?: AbortSignal) => {
    const late = AbortSignal.timeout(CHECKS.has(id) ? CHECK_TIMEOUT_MS : TIMEOUT_MS);
    const response = await fetch(consolePath(`/api${target}`), {
      method,
      headers: headersFor(method, body, session, options),
      ...(body === undefined ? {} : { body }),
      signal: end ? AbortSignal.any([late, end]) : late,
    }).catch(unreachable);
    // Health answers 503 with the same body while a dependency is down.
    if (!response.ok && !(wireFacts[id].health && response.status === 503)) {
      const refused = await refusedBy(response);
      if (refused.code === "SESSION_REQUIRED") onEnd(ENDED);
      throw refused;
    }
    return { headers: response.headers, result: (await response.json().catch(unreachable)) as unknown };
  };
  const { headers, result } =
    method === "GET" ? await together(`${options.isBackground === true} ${target}`, ask, options.signal) : await ask();
  options.onHeaders?.(headers);
  return wireFacts[id].paged ? { items: result, nextCursor: headers.get("next-cursor") } : result;
}

function headersFor(
  method: string,
  body: string | undefined,
  { csrfToken }: Session,
  { reason, idempotencyKey, ifMatch, policyTtlSec, isBackground }: ApiOptions,
): Record<string, string> {
  const headers: Record<string, string> = { accept: "application/json" };
  if (body !== undefined) headers["content-type"] = "application/json";
  if (isBackground) headers["x-background"] = "1";
  if (method === "GET") return headers;
  headers["x-csrf-token"] = csrfToken;
  headers["idempotency-key"] = idempotencyKey ?? crypto.randomUUID();
  if (ifMatch !== undefined) headers["if-match"] = ifMatch;
  if (policyTtlSec !== undefined) headers["policy-ttl"] = String(policyTtlSec);
  // A header contains bytes, and the server reads them as UTF-8.
  if (reason !== undefined) headers["audit-reason"] = String.fromCharCode(...new TextEncoder().encode(reason));
  return headers;
}

/** Whether the same request may succeed soon. */
export function isPassing(error: unknown): boolean {
  return error instanceof Refused && ["UNREACHABLE", "OVERLOADED", "DATABASE_UNAVAILABLE"].includes(error.code);
}
