import { z } from "zod";
import { KeyNetworks, KeyScopes } from "../../contract/resources/keys.ts";
import { Cidr, line, Name, Timestamp, text } from "../../contract/scalars.ts";
import { ApprovalsSection, ResolutionSection } from "./approvals-schema.ts";
import { AuditSection } from "./audit-schema.ts";
import { ConsoleSection, Port, Tls } from "./console-schema.ts";
import { DatabaseSection } from "./database-schema.ts";
import { EmbedSection, PagesSection } from "./embed-schema.ts";
import { OracleSection } from "./oracle-schema.ts";
import { PolicyBlock, RulesSection } from "./policy-block.ts";
import {
  BaseUrl,
  listOf,
  Origin,
  OutgoingHost,
  OutgoingUrl,
  previousSecrets,
  SecretReference,
  ServedHost,
  TenantId,
  TenantLabels,
  UsdNumber,
} from "./scalars.ts";
import { AdminHosts, DrainSeconds, MemoryMb, ServerLimits } from "./server-limits.ts";
import { WebhooksSection } from "./webhooks-schema.ts";

const Server = z.strictObject({
  host: text(255).default("127.0.0.1").describe("Address to listen on."),
  port: Port.default(8080).describe("Port of the API; 0 takes any free one."),
  opsPort: Port.default(9464).describe("Port of health checks and metrics; 0 takes any free one."),
  opsHost: text(255)
    .default("127.0.0.1")
    .describe("Address of health checks and metrics, which need no key: use loopback or a closed network."),
  expected: z
    .boolean()
    .default(false)
    .describe("The tenant should always have a server: without one, doctor, inbox and gates fail."),
  drainSeconds: DrainSeconds,
  trustProxy: listOf(Cidr, 100).meta({
    description: "Address ranges of your proxies: the server trusts X-Forwarded-For only from these.",
    examples: [["10.0.0.0/8"]],
  }),
  hosts: listOf(ServedHost, 1000).meta({
    description:
      "Host names of the tenant besides that of baseUrl; `*.` matches one label. The server refuses other hosts. Empty: any.",
    examples: [["predict.acme.example", "*.acme.example"]],
  }),
  adminHosts: AdminHosts,
  memoryMb: MemoryMb,
  limits: ServerLimits.prefault({}).describe("Limits of connections and streams."),
  tls: Tls.optional().describe(
    "The certificate for HTTPS. Without it the server uses HTTP, or --https a self-signed certificate.",
  ),
  console: ConsoleSection,
});

const keyFields = {
  name: Name.describe("Unique per tenant; audit entries name it."),
  secret: SecretReference.describe("Reference to the key's value."),
  expires: Timestamp.optional().meta({
    description: "When the key expires; by default never.",
    examples: ["2031-01-31T18:00:00Z"],
  }),
  from: KeyNetworks.default([]).meta({
    description: "Address ranges from which the key works; by default any.",
    examples: [["10.0.0.0/8"]],
  }),
};
const keyError: z.core.$ZodErrorMap = ({ code }) =>
  code === "invalid_type" ? "must be an entry such as { name: ops, secret: { env: ACME_ADMIN_KEY } }" : undefined;
const PublicKey = z.strictObject(keyFields, { error: keyError });
const AdminKey = z.strictObject(
  {
    ...keyFields,
    scopes: KeyScopes.default(["*"]).describe(
      "What the key may do: read, config:read, markets, settle, funds, users, config, keys; * is everything.",
    ),
  },
  { error: keyError },
);
const Keys = z.strictObject({
  admin: listOf(AdminKey, 100).describe("Operators' keys; never in a browser."),
  public: listOf(PublicKey, 100).describe("Keys for reading and trading."),
});

const issuer = text(512)
  .optional()
  .meta({ description: "Expected iss; by default not checked.", examples: ["https://login.acme.example"] });
const audience = text(512)
  .optional()
  .meta({ description: "Expected aud; by default not checked.", examples: ["predict"] });
const Jwks = z.union([
  z.strictObject({
    url: OutgoingUrl.meta({
      description: "Address of the key set.",
      examples: ["https://login.acme.example/.well-known/jwks.json"],
    }),
  }),
  z.strictObject({
    file: text(1024).describe("File with the key set, relative to the tenant's folder."),
  }),
]);
const Jwt = z.discriminatedUnion("algorithm", [
  z.strictObject({
    algorithm: z.literal("HS256").describe("One secret shared with the issuer of the tokens."),
    secret: SecretReference.describe("Where the secret is kept; at least 32 bytes."),
    previous: previousSecrets("tokens signed with them are valid"),
    issuer,
    audience,
  }),
  z.strictObject({
    algorithm: z.enum(["ES256", "EdDSA", "RS256"]).describe("Public keys of the issuer of the tokens."),
    jwks: Jwks.describe("The place of the public keys."),
    issuer,
    audience,
  }),
]);

const PerMinute = z.number().int().min(1).max(1_000_000);
const originList = listOf(Origin, 200);

/** The tenant file. Every field has a description, which editors show. */
export const TenantFileSchema = z
  .strictObject({
    extends: z
      .union([text(1024), z.array(text(1024)).max(10)])
      .optional()
      .meta({
        description:
          "One or more files that this file extends: mappings are merged, other values replaced, later files win.",
        examples: ["../base.yaml"],
      }),
    version: z.literal(1).describe("Version of the file format."),
    tenant: TenantId.meta({
      description: "The tenant's id: the name of its folder, and part of the webhook paths.",
      examples: ["acme"],
    }),
    name: line(200)
      .optional()
      .meta({ description: "Display name; the default is the id.", examples: ["Acme Predictions"] }),
    labels: TenantLabels.default({}).describe(
      "Labels by which commands and fleet.yaml select the tenant, such as region: eu.",
    ),
    baseUrl: BaseUrl.meta({
      description: "The tenant's own address; http:// for loopback hosts only.",
      examples: ["https://predict.acme.example"],
    }),
    sandbox: z.boolean().default(false).describe("Allows simulated prices. Never with real money."),
    server: Server.prefault({}).describe("Where the server listens."),
    database: DatabaseSection.default("embedded").describe("The embedded PostgreSQL, or the address of your own."),
    keys: Keys.describe("API keys, by secret reference."),
    auth: z
      .strictObject({ jwt: Jwt.describe("How user tokens are verified.") })
      .describe("How users are authenticated."),
    kyc: z
      .strictObject({
        required: z.boolean().default(true).describe("Users can trade only after a passed identity check."),
        provider: Name.optional().describe("Name of the identity provider."),
      })
      .prefault({})
      .describe("Identity checks."),
    webhooks: WebhooksSection.prefault({}).describe("Webhooks in and out."),
    audit: AuditSection.describe("The audit log."),
    treasury: z
      .strictObject({
        capitalUsd: UsdNumber.default(100_000).describe("Opening capital; raising it later adds the difference."),
      })
      .prefault({})
      .describe("The house's money."),
    markets: z
      .strictObject({
        liquidityUsd: UsdNumber.positive()
          .default(1000)
          .describe("The house's largest loss on a market, unless the market states its own."),
        search: z
          .string()
          .max(127)
          .regex(/^[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?$/, "must be the name of a text search configuration")
          .default("english")
          .describe(
            "Text search configuration of the database, such as english, german or simple, for the search of markets. Words that it drops are searched literally.",
          ),
        files: listOf(text(512), 100).describe("Market files, relative to this folder; * is a wildcard."),
      })
      .prefault({})
      .describe("Markets."),
    policy: PolicyBlock.default({}).describe(
      "Limits that PUT /v1/policy can change too; an apply leaves unstated fields unchanged.",
    ),
    rules: RulesSection.describe("Rules in CEL on this file and every plan; validate, plan and apply check them."),
    resolution: ResolutionSection.prefault({}).describe(
      "How markets end: who must agree, and how long users may object.",
    ),
    approvals: ApprovalsSection.prefault({}).describe("Changes that need more than one actor."),
    rateLimit: z
      .strictObject({
        perMinute: PerMinute.default(20).describe(
          "Requests per minute and client address; the default in a sandbox is 600.",
        ),
        adminPerMinute: PerMinute.optional().describe(
          "Separate limit for each valid admin key, so that traders at the same address do not use it up.",
        ),
        embedPerMinute: PerMinute.optional().describe(
          "Reads of the widget and the market pages per address; the default is 600, or perMinute if that is more.",
        ),
        webhooksPerMinute: PerMinute.optional().describe("Separate limit per address for signed webhooks."),
      })
      .prefault({})
      .describe("Requests per minute."),
    logs: z
      .strictObject({
        keepDays: z.number().int().min(1).max(3650).default(7).describe("Days that lines are kept."),
        maxMb: z.number().int().min(1).max(102_400).default(256).describe("Largest size of all logs in megabytes."),
      })
      .prefault({})
      .describe("Logs of servers in .pmctl/logs, which pmctl logs reads."),
    oracle: OracleSection.prefault({}).describe("Prices that settle markets."),
    network: z
      .strictObject({
        allowPrivate: listOf(Cidr, 100).meta({
          description: "Private ranges that pmctl's requests may reach, also by http. For tests and closed networks.",
          examples: [["10.1.0.0/16"]],
        }),
        allowPorts: listOf(z.number().int().min(1).max(65_535), 100).describe(
          "Ports besides 80 and 443 that pmctl's requests may use; ranges in allowPrivate allow all ports.",
        ),
        allowHosts: listOf(OutgoingHost, 1000).meta({
          description: "The only hosts that pmctl's requests may reach; `*.` matches one label. Empty: any.",
          examples: [["prices.acme.example", "*.feeds.example"]],
        }),
      })
      .prefault({})
      .describe("Limits of pmctl's own requests."),
    embed: EmbedSection.prefault({}).describe("The embedded widget."),
    pages: PagesSection.prefault({}).describe("The market pages."),
    cors: z
      .strictObject({ origins: originList.describe("Sites whose scripts may call the API.") })
      .prefault({})
      .describe("Cross-origin requests."),
  })
  .meta({ title: "pmctl tenant file", description: "One tenant: its address, keys, policy, markets and feeds." });

export type TenantFile = z.output<typeof TenantFileSchema>;
