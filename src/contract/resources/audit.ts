import { z } from "zod";
import { SECURITY_EVENTS } from "../../domain/access/security.ts";
import { SIGNATURE_FAULTS } from "../../domain/access/signature-faults.ts";
import { TOKEN_FAULTS } from "../../domain/access/token-faults.ts";
import { INTEGRITY_PROBLEMS } from "../../domain/audit/audit-link.ts";
import { AUDIT_TYPES } from "../../domain/audit/sentence.ts";
import { ANCHOR_STANDINGS } from "../../domain/audit/set-back.ts";
import { operationsUnder } from "../operation.ts";
import { MarketId, paging, queryInteger, Timestamp, text, UserId } from "../scalars.ts";

const listed = (faults: object): string =>
  Object.keys(faults)
    .map((word) => `\`${word}\``)
    .join(", ");

export const AuditEntry = z
  .object({
    seq: z.number().int(),
    type: z.string(),
    actor: z.string(),
    payload: z.record(z.string(), z.json()),
    hash: z.string(),
    ts: z.string().describe("ISO 8601, exactly as it was hashed."),
    keyId: z.string().describe("Extension: the id of the audit key that sealed the entry."),
    payloadText: z.string().describe("Extension: the exact text that was hashed."),
  })
  .meta({ id: "AuditEntry" });

export const AuditFilter = z.object({
  ...paging,
  type: z.enum(AUDIT_TYPES).optional().describe("Extension: only entries of this type."),
  actor: text(300).optional().describe("Extension: only entries of this actor."),
  after: queryInteger(z.number().int().min(0))
    .optional()
    .describe("Extension: only entries after this seq, oldest first."),
  since: Timestamp.optional().describe("Extension: only entries from this instant on."),
  until: Timestamp.optional().describe("Extension: only entries before this instant."),
  userId: UserId.optional().describe("Extension: only entries about this user."),
  marketId: MarketId.optional().describe("Extension: only entries about this market."),
  q: text(200)
    .optional()
    .describe(
      "Extension: only entries with this text in their type, actor, payload or market's question; A to Z match a to z.",
    ),
});

export const AuditPage = z
  .object({
    entries: z.array(AuditEntry),
    cursor: z
      .string()
      .nullable()
      .meta({
        description:
          "Where the next page begins; null on the last one. With `marketId` or `q` a page with a cursor may hold fewer " +
          "entries than `limit`, or none, because a request looks at a bounded part of the log.",
      }),
    questions: z
      .record(z.string(), z.string())
      .optional()
      .describe("Extension: the questions of the markets that the entries name, by market id."),
  })
  .meta({ id: "AuditPage" });

export const AuditEntryTold = AuditEntry.extend({
  sentence: z.string().meta({
    description: "The entry in words.",
    examples: ["alice bought 80.7 Yes of 'Will it rain?' for $33.33"],
  }),
}).meta({ id: "AuditEntryTold" });

const ChainProblemFound = z
  .object({
    kind: z.enum(INTEGRITY_PROBLEMS),
    seq: z.number().int().describe("The first entry concerned."),
    text: z.string().meta({ examples: ["the log was set back: it ends at entry 21, and had reached 26"] }),
    sealedWith: z
      .string()
      .optional()
      .meta({
        description: "The key that sealed the log, if the server has another one: the record itself may be sound.",
        examples: ["ak_6629839654c6"],
      }),
  })
  .meta({ id: "ChainProblem", description: "Why the audit log fails verification." });
const Anchor = z
  .object({ seq: z.number().int(), hash: z.string(), ts: z.string().describe("The entry's own time.") })
  .meta({ id: "Anchor", description: "An entry that the audit log is known to have contained." });
export const AuditStatus = z
  .object({
    verified: z.boolean(),
    head: z.string(),
    count: z.number().int().min(0),
    problem: ChainProblemFound.nullable(),
    anchor: Anchor.nullable().describe("The newest anchor known to this server."),
  })
  .meta({ id: "AuditStatus" });

const ListedAnchor = Anchor.extend({
  ts: z.string().nullable().describe("The entry's own time; null if the anchor does not state it."),
  places: z.array(z.string()).meta({ examples: [["anchored in .pmctl/anchors/acme.ndjson"]] }),
  standing: z
    .enum(ANCHOR_STANDINGS)
    .describe("Whether the log has this entry; `given up` if an operator has accepted the loss of a missing one."),
}).meta({ id: "ListedAnchor" });

export const SecurityEvent = z.enum(SECURITY_EVENTS).meta({
  id: "SecurityEvent",
  description: "What happened; `key.used` is reported for admin keys, once per key, address and hour.",
});

export const SecurityEntry = z
  .object({
    ts: Timestamp.describe("The first time it happened in that minute."),
    event: z.string().meta({
      description: "One of the values of the query parameter `event`.",
      examples: ["auth.failed"],
    }),
    reason: z.string().meta({
      description: "The cause; for `auth.failed` one of `key`, `token`, `signature` and `network`.",
      examples: ["key"],
    }),
    detail: z
      .string()
      .nullable()
      .meta({
        description: `For the reason \`token\`, what is wrong with the user token: one of ${listed(TOKEN_FAULTS)}. For the reason \`signature\`, what is wrong with the webhook: one of ${listed(SIGNATURE_FAULTS)}. Never contains the token or the signature.`,
        examples: [null],
      }),
    address: z
      .string()
      .nullable()
      .meta({
        description:
          "The client's address as the rate limit counts it; `others` when there were too many addresses; null if no request caused it.",
        examples: ["203.0.113.7"],
      }),
    fingerprint: z
      .string()
      .nullable()
      .meta({
        description: "The first digits of the SHA-256 of the first key used, as `GET /v1/keys` shows them.",
        examples: ["fp:0a1b2c3d"],
      }),
    keyName: z
      .string()
      .nullable()
      .meta({
        description: "The name of the key, if the key is known.",
        examples: ["ops"],
      }),
    route: z
      .string()
      .nullable()
      .meta({
        description: "The path pattern of the operation.",
        examples: ["/v1/markets/:id"],
      }),
    count: z.number().int().min(1).describe("Number of these events from this address in this minute."),
  })
  .meta({ id: "SecurityEntry" });

export const SecurityFilter = z.object({
  event: SecurityEvent.optional(),
  since: Timestamp.optional().describe("Only events from this time on."),
  ...paging,
});

export const SecurityPage = z
  .object({ entries: z.array(SecurityEntry), cursor: z.string().nullable() })
  .meta({ id: "SecurityPage" });

const { operatorRead } = operationsUnder("operations");

export const auditOperations = {
  listAudit: operatorRead({
    path: "/v1/audit",
    summary: "List the entries of the audit log, newest first.",
    input: AuditFilter,
    output: AuditPage,
    refusals: ["OVERLOADED"],
    lines: true,
  }),
  getAuditEntry: operatorRead({
    path: "/v1/audit/:seq",
    summary: "Get an entry of the audit log, and its meaning in words.",
    input: z.object({ seq: queryInteger(z.number().int().min(1)).describe("The entry's number.") }),
    output: AuditEntryTold,
    extension: true,
  }),
  getAuditStatus: operatorRead({
    path: "/v1/audit/status",
    summary: "Verify the audit chain.",
    output: AuditStatus,
    verifies: "audit",
  }),
  listAnchors: operatorRead({
    path: "/v1/audit/anchors",
    summary: "List the 100 newest anchors known to this server, each with whether the audit log still has its entry.",
    output: z
      .object({
        anchors: z.array(ListedAnchor),
        ignored: z.array(z.string()).describe("Lines and files that count for nothing, each with the reason."),
      })
      .meta({ id: "AnchorList" }),
    extension: true,
  }),
  listSecurityEvents: operatorRead({
    path: "/v1/audit/security",
    summary: "List security events, newest first; they are kept for 90 days.",
    input: SecurityFilter,
    output: SecurityPage,
    extension: true,
  }),
};
