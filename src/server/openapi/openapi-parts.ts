import { MAX_POLICY_TTL_SEC } from "../../contract/constants.ts";
import type { Auth, Operation } from "../../contract/operation.ts";

import { FINGERPRINT } from "../../domain/access/idempotency.ts";

/** A part of the OpenAPI document. */
export type JsonObject = Record<string, unknown>;

/* The parts of the document that do not come from schemas. */

export const SECURITY: Record<Auth, JsonObject[]> = {
  none: [],
  public: [{ apiKey: [] }],
  user: [
    { apiKey: [], userToken: [] },
    { apiKey: [], sessionCookie: [] },
  ],
  admin: [{ apiKey: [] }],
  signature: [{ signature: [] }, { messageSignature: [] }],
};

export const SECURITY_SCHEMES = {
  apiKey: headerScheme("x-api-key", "A public or an admin key of the tenant."),
  userToken: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "JWT",
    description: "The trader: `sub`, `iat` and `exp`.",
  },
  sessionCookie: {
    type: "apiKey",
    in: "cookie",
    name: "__Host-pm_session",
    description: "Extension: the same token in the cookie of `POST /v1/session`. Changes need an allowed `Origin`.",
  },
  stripeSignature: headerScheme("Stripe-Signature", "Stripe's own scheme, at most five minutes old."),
  signature: headerScheme(
    "X-Signature",
    "HMAC-SHA256 of the raw body under the webhook secret, in hex. For KYC results, the identity provider's own header is accepted too, if the tenant file names the provider. Ignored if the request has a `webhook-signature`.",
  ),
  messageSignature: headerScheme(
    "webhook-signature",
    "Extension: Standard Webhooks. One or more `v1,<base64>`, separated by spaces; one must be the HMAC-SHA256 of `<webhook-id>.<webhook-timestamp>.<raw body>`. The key is the decoded base64 after `whsec_`, or else the secret's UTF-8 bytes.",
  ),
};

/** The schemes of providers that use their own signatures. */
export const PROVIDER_SCHEMES = { stripe: "stripeSignature" } as const satisfies Record<
  NonNullable<Operation["provider"]>,
  keyof typeof SECURITY_SCHEMES
>;

/** A misspelled `limit` has no effect, so a reader must learn this before the first request. */
export const UNKNOWN_PARAMETERS = "The server ignores query parameters that an operation does not name.";

export const DESCRIPTION = `Markets, trades and operations of one tenant. Amounts are US dollars as JSON numbers with at most six decimals, timestamps
ISO 8601 in UTC. An error is \`{"error": "<text>"}\` with its code in the header \`Error-Code\`.
HEAD is answered wherever GET is, without the body. ${UNKNOWN_PARAMETERS}
Parts marked \`x-extension\` go beyond the interface specification.`;

export const ERROR_SCHEMA = {
  type: "object",
  properties: { error: { type: "string", description: "The error in words." } },
  required: ["error"],
  additionalProperties: false,
  examples: [{ error: "Market is closed" }],
};

export const HEADERS = {
  "Request-Id": { description: "Identifies this request in the logs.", schema: { type: "string" } },
  "Retry-After": { description: "Whole seconds to wait.", schema: { type: "integer", minimum: 1 } },
  "Next-Cursor": { description: "The cursor of the next page; absent on the last page.", schema: { type: "string" } },
  ETag: { description: "The version, for `If-Match` or `If-None-Match`.", schema: { type: "string" } },
  Link: { description: 'The next page, `rel="next"`.', schema: { type: "string" } },
  "Idempotent-Replayed": {
    description: "`true` if this is the stored answer of an earlier request.",
    schema: { type: "string", const: "true" },
  },
  "Audit-Seq": {
    description: "Extension: the `seq` of the last audit entry that this request wrote; absent if it wrote none.",
    schema: { type: "integer", minimum: 1 },
  },
  "Audit-Hash": {
    description: "Extension: that entry's hash, which covers all earlier entries. Keep it to detect a rewritten log.",
    schema: { type: "string", pattern: "^[0-9a-f]{64}$" },
  },
  "Audit-Time": {
    description: "Extension: when that entry was written.",
    schema: { type: "string", format: "date-time" },
  },
  "Audit-Key-Id": {
    description: "Extension: the id of the audit key that sealed that entry.",
    schema: { type: "string" },
  },
  "Audit-Verified-At": {
    description: "Extension: when the whole chain was last verified.",
    schema: { type: "string", format: "date-time" },
  },
  "Ledger-Verified-At": {
    description: "Extension: when every row of the ledger was last compared.",
    schema: { type: "string", format: "date-time" },
  },
  "RateLimit-Limit": { description: "Requests per minute.", schema: { type: "integer" } },
  "RateLimit-Remaining": { description: "Requests left in the window.", schema: { type: "integer" } },
  "RateLimit-Reset": { description: "Seconds until the window ends.", schema: { type: "integer" } },
};
/** The header that says when the subject of an operation's `verifies` was last verified completely. */
export const VERIFIED_HEADERS = { audit: "Audit-Verified-At", ledger: "Ledger-Verified-At" } as const;
export const SEAL_HEADERS = ["Audit-Seq", "Audit-Hash", "Audit-Time", "Audit-Key-Id"] as const;
export const RATE_LIMIT_HEADERS = ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"] as const;

/** A request header. If its description calls it an extension, it is marked for programs too. */
export function headerParameter(name: string, description: string, schema: JsonObject): JsonObject {
  const isExtension = description.startsWith("Extension:");
  return { name, in: "header", description, schema, ...(isExtension ? { "x-extension": true } : {}) };
}

export const IDEMPOTENCY_KEY = headerParameter(
  "Idempotency-Key",
  "Repeats of the request within 24 hours get its first answer.",
  { type: "string", minLength: 1, maxLength: 255 },
);
export const IDEMPOTENCY_FINGERPRINT = headerParameter(
  "Idempotency-Fingerprint",
  "Extension: a SHA-256 in hex that identifies the request under its `Idempotency-Key` instead of its body. For clients whose repeats contain other times, such as those computed from `in two hours`.",
  { type: "string", pattern: FINGERPRINT.source },
);
export const IF_MATCH = headerParameter("If-Match", "Change only the version that this `ETag` names.", {
  type: "string",
});
export const IF_NONE_MATCH = headerParameter(
  "If-None-Match",
  "Extension: the `ETag` of the copy that the client has; 304 if it is current.",
  { type: "string" },
);
export const POLICY_TTL = headerParameter(
  "Policy-Ttl",
  "Extension: the number of seconds after which the fields return to their regular values.",
  { type: "integer", minimum: 1, maximum: MAX_POLICY_TTL_SEC },
);
export const AUDIT_REASON = headerParameter("Audit-Reason", "The operator's reason, for the audit entry.", {
  type: "string",
  maxLength: 500,
});
export const SIGNED_AT = headerParameter(
  "X-Timestamp",
  "When the message was signed, in seconds or ISO 8601; at most five minutes off. Used with `X-Signature`.",
  { type: "string" },
);
export const MESSAGE_ID = headerParameter(
  "webhook-id",
  "Extension: the message's id, without a dot. Used with `webhook-signature`.",
  { type: "string", pattern: "^[\\x21-\\x2d\\x2f-\\x7e]{1,255}$" },
);
export const MESSAGE_TIME = headerParameter(
  "webhook-timestamp",
  "Extension: when the message was signed, in seconds since the epoch; at most five minutes off. Used with `webhook-signature`.",
  { type: "string", pattern: "^[0-9]{1,12}$" },
);

function headerScheme(name: string, description: string): JsonObject {
  return { type: "apiKey", in: "header", name, description };
}
