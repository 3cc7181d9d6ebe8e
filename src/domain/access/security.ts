import { isCredentialFault } from "./credential-faults.ts";

/** The events of the security log, in words. */
export const SECURITY_TEXTS = {
  "auth.failed": "Credentials were refused",
  "key.used": "An admin key was used",
  "role.denied": "A public key was used for an operation that needs an admin key",
  "scope.denied": "A key was used beyond its scopes",
  "session.revoked": "Sessions were ended",
  "connections.refused": "Connections were refused",
  "integrity.failed": "THE LEDGER DOES NOT AGREE WITH ITSELF",
  "kyc.unrecognised": "An identity check returned a status that is neither passed nor failed",
} as const;

export type SecurityEvent = keyof typeof SECURITY_TEXTS;
export const SECURITY_EVENTS = Object.keys(SECURITY_TEXTS) as [SecurityEvent, ...SecurityEvent[]];

/** The reasons of `auth.failed`. */
export const AUTH_FAILURES = ["key", "token", "signature", "network"] as const;

/** The route at which operators sign in. */
export const SIGN_IN_ROUTE = "/console/session";

/** The known origin of a request. */
export interface Origin {
  /** An IPv4 address or the /64 of an IPv6 address, as the rate limit counts it. */
  address: string | null;
  /** `fp:` and the first 8 hex digits of the presented key's SHA-256. */
  fingerprint: string | null;
  keyName: string | null;
  /** The path of the operation, with `:id` for each parameter. */
  route: string | null;
}

/** The origin of events without a request, or with a request of this machine. */
export const NO_ORIGIN: Origin = { address: null, fingerprint: null, keyName: null, route: null };

/** The error codes that the log records. A reason in the error's detail that is among `reasons` replaces the usual one. */
const REFUSED: Readonly<Record<string, { event: SecurityEvent; reason: string; reasons?: readonly string[] }>> = {
  KEY_INVALID: { event: "auth.failed", reason: "key", reasons: ["network"] },
  USER_REQUIRED: { event: "auth.failed", reason: "token" },
  SIGNATURE_INVALID: { event: "auth.failed", reason: "signature" },
  FORBIDDEN: { event: "role.denied", reason: "role" },
  SCOPE_REQUIRED: { event: "scope.denied", reason: "scope" },
};

/** The security event of an error; undefined if the log does not record it. */
export function securityEventOf(
  code: string,
  detail: Readonly<Record<string, unknown>>,
): { event: SecurityEvent; reason: string; detail: string | null } | undefined {
  const refused = REFUSED[code];
  if (!refused) return undefined;
  const { event, reason, reasons = [] } = refused;
  return {
    event,
    reason: reasons.find((each) => each === detail.reason) ?? reason,
    detail: isCredentialFault(detail.fault) ? detail.fault : null,
  };
}
