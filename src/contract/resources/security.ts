import { z } from "zod";
import { SECURITY_EVENTS } from "../../domain/security.ts";
import { operation } from "../operation.ts";
import { PageCursor, PageLimit, Timestamp } from "../scalars.ts";
import { StoredText } from "../stored.ts";

export const SecurityEvent = z.enum(SECURITY_EVENTS).meta({
  id: "SecurityEvent",
  description: "What happened; `key.used` is told of admin keys, once per key, address and hour.",
});

export const SecurityEntry = z
  .object({
    ts: Timestamp.meta({ description: "When it first happened in that minute." }),
    event: StoredText.meta({ description: "One of those that can be asked for.", examples: ["auth.failed"] }),
    reason: StoredText.meta({
      description: "Of `auth.failed`: `key`, `token`, `signature` or `network`.",
      examples: ["key"],
    }),
    address: StoredText.nullable().meta({
      description: "As the rate limit counts it; `others` where too many took part; null where no request caused it.",
      examples: ["203.0.113.7"],
    }),
    fingerprint: StoredText.nullable().meta({
      description: "The beginning of the SHA-256 of the key that came first, as `GET /v1/keys` shows it.",
      examples: ["fp:0a1b2c3d"],
    }),
    keyName: StoredText.nullable().meta({ description: "Where the key is known.", examples: ["ops"] }),
    route: StoredText.nullable().meta({ description: "The path of the operation.", examples: ["/v1/markets/:id"] }),
    count: z.number().int().min(1).meta({ description: "How often, from this address in this minute." }),
  })
  .meta({ id: "SecurityEntry" });

export const SecurityFilter = z.object({
  event: SecurityEvent.optional(),
  since: Timestamp.optional().meta({ description: "Only what happened from then on." }),
  limit: PageLimit.default(50),
  cursor: PageCursor.optional(),
});

export const SecurityPage = z
  .object({ entries: z.array(SecurityEntry), cursor: z.string().nullable() })
  .meta({ id: "SecurityPage" });

export const securityOperations = {
  listSecurityEvents: operation({
    method: "GET",
    path: "/v1/audit/security",
    auth: "admin",
    scope: "read",
    summary: "What the edge refused and noticed, newest first; kept for 90 days.",
    input: SecurityFilter,
    output: SecurityPage,
    extension: true,
  }),
};
