import { hash } from "node:crypto";
import type { Logger } from "pino";
import { keyFingerprint } from "../../domain/access/api-key.ts";
import { type Origin, SECURITY_TEXTS, type SecurityEvent, securityEventOf } from "../../domain/access/security.ts";
import type { Fault } from "../../domain/fault.ts";
import type { SecurityEntry, SecurityLog } from "../../services/security/security-log.ts";
import { hasUserToken } from "../access/session-cookie.ts";
import type { Exchange } from "../exchange.ts";
import type { Metrics } from "./metrics.ts";

/** The origin of a request and its key's name, never the key itself. */
export function originOf(exchange: Exchange): Origin {
  const { address, key, route } = exchange;
  const presented = key ? undefined : exchange.header("x-api-key");
  const sha256 =
    key?.hash ?? exchange.presentedSha256 ?? (presented === undefined ? undefined : hash("sha256", presented));
  const fingerprint = sha256 === undefined ? null : keyFingerprint(sha256);
  return { address, fingerprint, keyName: key?.name ?? null, route };
}

/** Notes a request in the security log if its credentials were refused or it used an admin key. */
export function noteRequest(security: SecurityLog, exchange: Exchange, fault: Fault | undefined): void {
  if (exchange.key?.type === "admin") security.note("key.used", "admin", originOf(exchange));
  const refused = fault && securityEventOf(fault.code, fault.detail);
  // A request without a token is not a failed attempt: pages send it to learn whether a user is signed in.
  if (!refused || (fault.code === "USER_REQUIRED" && !hasUserToken(exchange))) return;
  const { keyName } = fault.detail;
  const origin = { ...originOf(exchange), ...(typeof keyName === "string" ? { keyName } : {}) };
  security.note(refused.event, refused.reason, origin, refused.detail);
}

const LEVELS: { readonly [event in SecurityEvent]?: "info" | "error" } = {
  "key.used": "info",
  "session.revoked": "info",
  "integrity.failed": "error",
};
/** For the reason `checkpoint`: another program writes to the database, or the checkpoint's key is no longer listed. */
const UNSEALED_CHECKPOINT = "No listed audit key sealed the ledger's checkpoint: the checkpoint is ignored";

/** The code that detects these events logs them itself, with more details than an entry has. */
function isLoggedElsewhere({ event, reason }: SecurityEntry): boolean {
  return (
    event === "connections.refused" ||
    (event === "integrity.failed" && reason !== "reconciliation" && reason !== "checkpoint")
  );
}

/** Counts the events of the security log, and writes its entries to the server's log. */
export function watchSecurity(security: SecurityLog, metrics: Metrics, log: Logger): void {
  security.listen({
    noted: (event, reason) => metrics.countSecurityEvent(event, reason),
    entry: (entry) => {
      if (isLoggedElsewhere(entry)) return;
      const { ts, ...fields } = entry;
      const line = entry.reason === "checkpoint" ? UNSEALED_CHECKPOINT : SECURITY_TEXTS[entry.event];
      log[LEVELS[entry.event] ?? "warn"]({ ...fields, ts: new Date(ts).toISOString() }, line);
    },
    dropped: (events) => metrics.countSecurityEventsDropped(events),
  });
}
