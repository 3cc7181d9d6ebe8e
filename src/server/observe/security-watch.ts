import { hash } from "node:crypto";
import type { Logger } from "pino";
import { keyFingerprint } from "../../domain/access/api-key.ts";
import { type Origin, type SecurityEvent, securityEventOf } from "../../domain/access/security.ts";
import type { Fault } from "../../domain/fault.ts";
import type { SecurityEntry, SecurityLog } from "../../services/security/security-log.ts";
import { hasUserToken } from "../access/session-cookie.ts";
import type { Exchange } from "../exchange.ts";
import type { Metrics } from "./metrics.ts";

/** Where a request came from, and with which key: never the key itself. */
export function originOf(exchange: Exchange): Origin {
  const { address, key, route } = exchange;
  const presented = key ? undefined : exchange.header("x-api-key");
  const sha256 = key?.hash ?? (presented === undefined ? undefined : hash("sha256", presented));
  const fingerprint = sha256 === undefined ? null : keyFingerprint(sha256);
  return { address, fingerprint, keyName: key?.name ?? null, route };
}

/** Notes an answered request in the security log if credentials were refused, or an admin key was used. */
export function noteRequest(security: SecurityLog, exchange: Exchange, fault: Fault | undefined): void {
  if (exchange.key?.type === "admin") security.note("key.used", "admin", originOf(exchange));
  const refused = fault && securityEventOf(fault.code, fault.detail);
  // A request without a token is no failed attempt: pages send it to learn whether a user is signed in.
  if (!refused || (fault.code === "USER_REQUIRED" && !hasUserToken(exchange))) return;
  const { keyName } = fault.detail;
  const origin = { ...originOf(exchange), ...(typeof keyName === "string" ? { keyName } : {}) };
  security.note(refused.event, refused.reason, origin, refused.detail);
}

const LOG_LINES: { readonly [event in SecurityEvent]: { level: "info" | "warn" | "error"; text: string } } = {
  "auth.failed": { level: "warn", text: "Credentials were refused" },
  "key.used": { level: "info", text: "An admin key was used" },
  "role.denied": { level: "warn", text: "A key was used for what only an admin key may do" },
  "scope.denied": { level: "warn", text: "A key was used beyond its scopes" },
  "session.revoked": { level: "info", text: "Sessions were ended" },
  "connections.refused": { level: "warn", text: "Connections were refused" },
  "kyc.unrecognised": { level: "warn", text: "An identity check has a status that is neither passed nor failed" },
  "integrity.failed": { level: "error", text: "THE LEDGER DOES NOT AGREE WITH ITSELF" },
};
/** Of `integrity.failed` with the reason `checkpoint`: another hand writes to the database, or the key that sealed it is no longer listed. */
const UNSEALED_CHECKPOINT = "No listed audit key sealed the ledger's checkpoint: it counts for nothing";

/** The code that detects these writes the log line itself, with more than an entry holds. */
function isLoggedElsewhere({ event, reason }: SecurityEntry): boolean {
  return (
    event === "connections.refused" ||
    (event === "integrity.failed" && reason !== "reconciliation" && reason !== "checkpoint")
  );
}

/** Counts what the security log notes, and writes its entries into the server's log. */
export function watchSecurity(security: SecurityLog, metrics: Metrics, log: Logger): void {
  security.listen({
    noted: (event, reason) => metrics.countSecurityEvent(event, reason),
    entry: (entry) => {
      if (isLoggedElsewhere(entry)) return;
      const { ts, ...fields } = entry;
      const { level, text } = LOG_LINES[entry.event];
      const line = entry.reason === "checkpoint" ? UNSEALED_CHECKPOINT : text;
      log[level]({ ...fields, ts: new Date(ts).toISOString() }, line);
    },
    dropped: (events) => metrics.countSecurityEventsDropped(events),
  });
}
