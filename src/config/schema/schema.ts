import { z } from "zod";
import { KeyNetworks, KeyScopes } from "../../contract/resources/keys.ts";
import { INBOUND_SCHEMES, webhookEventTypes } from "../../contract/resources/webhooks.ts";
import { Cidr, line, Name, Timestamp, text } from "../../contract/scalars.ts";
import { AuditSection } from "./audit-schema.ts";
import { DatabaseSection } from "./database-schema.ts";
import { EmbedSection, PagesSection } from "./embed-schema.ts";
import { OracleSection } from "./oracle-schema.ts";
import { PolicyBlock, RulesSection } from "./policy-block.ts";
import {
  BaseUrl,
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

/** Identity providers whose own signatures and payloads are understood. */
const KYC_PROVIDERS = ["sumsub", "persona", "veriff", "onfido"] as const;
const Port = z.number().int().min(0).max(65_535);

const Tls = z.strictObject({
  cert: text(1024).meta({
    description:
      "File with the certificate and its chain in PEM, relative to the tenant's folder; a renewed one is taken up while serving.",
  }),
  key: SecretReference.meta({ description: "Where the certificate's private key is kept, in PEM." }),
});

const Server = z.strictObject({
  host: text(255).default("127.0.0.1").meta({ description: "Address to listen on." }),
  port: Port.default(8080).meta({ description: "Port of the API; 0 takes any free one." }),
  opsPort: Port.default(9464).meta({
    description: "Port of health checks and metrics; 0 takes any free one.",
  }),
  opsHost: text(255).default("127.0.0.1").meta({
    description: "Address of health checks and metrics, which ask for no key: loopback, or one of a closed network.",
  }),
  expected: z.boolean().default(false).meta({
    description:
      "Whether the tenant is to be served at all times: one that nobody serves then fails doctor, inbox and gates.",
  }),
  drainSeconds: DrainSeconds,
  trustProxy: z
    .array(Cidr)
    .max(100)
    .default([])
    .meta({ description: "Address ranges of your proxies: X-Forwarded-For counts from them only." }),
  hosts: z
    .array(ServedHost)
    .max(1000)
    .default([])
    .meta({
      description:
        "Names that the tenant is asked under, beside that of baseUrl; `*.` stands for one label. Under others nothing is answered. Empty: any.",
      examples: [["predict.acme.example", "*.acme.example"]],
    }),
  adminHosts: AdminHosts,
  memoryMb: MemoryMb,
  limits: ServerLimits.prefault({}).meta({ description: "What connections may take of the server." }),
  tls: Tls.optional().meta({
    description: "The certificate to serve HTTPS with. Without it the server speaks HTTP, or --https signs its own.",
  }),
});

const keyFields = {
  name: Name.meta({ description: "Unique per tenant; audit entries name it." }),
  secret: SecretReference.meta({ description: "Where the key's value is kept." }),
  expires: Timestamp.optional().meta({ description: "When the key stops working; never, unless given." }),
  from: KeyNetworks.default([]).meta({
    description: "Address ranges that the key works from; anywhere, unless given.",
  }),
};
const keyError: z.core.$ZodErrorMap = ({ code }) =>
  code === "invalid_type" ? "must be an entry such as { name: ops, secret: { env: ACME_ADMIN_KEY } }" : undefined;
const PublicKey = z.strictObject(keyFields, { error: keyError });
const AdminKey = z.strictObject(
  {
    ...keyFields,
    scopes: KeyScopes.default(["*"]).meta({
      description:
        "What the key may do: read, config:read, markets, settle, funds, users, config, keys; * is everything.",
    }),
  },
  { error: keyError },
);
const Keys = z.strictObject({
  admin: z.array(AdminKey).max(100).default([]).meta({ description: "Operators' keys; never in a browser." }),
  public: z.array(PublicKey).max(100).default([]).meta({ description: "Keys for reading and trading." }),
});

const issuer = text(512).optional().meta({ description: "Expected iss; not checked unless given." });
const audience = text(512).optional().meta({ description: "Expected aud; not checked unless given." });
const Jwks = z.union([
  z.strictObject({ url: OutgoingUrl.meta({ description: "Address of the key set." }) }),
  z.strictObject({ file: text(1024).meta({ description: "File with the key set, relative to the tenant's folder." }) }),
]);
const Jwt = z.discriminatedUnion("algorithm", [
  z.strictObject({
    algorithm: z.literal("HS256").meta({ description: "One secret shared with the issuer of the tokens." }),
    secret: SecretReference.meta({ description: "Where the secret is kept; at least 32 bytes." }),
    previous: previousSecrets("tokens signed with them count"),
    issuer,
    audience,
  }),
  z.strictObject({
    algorithm: z.enum(["ES256", "EdDSA", "RS256"]).meta({ description: "Public keys of the issuer of the tokens." }),
    jwks: Jwks.meta({ description: "Where the public keys are." }),
    issuer,
    audience,
  }),
]);

const secretList = z.array(SecretReference).max(10).default([]);
const OutboundWebhook = z.strictObject({
  name: Name.meta({ description: "Unique among the tenant's outgoing webhooks." }),
  url: OutgoingUrl.meta({ description: "Where events are delivered." }),
  events: z.array(z.enum(webhookEventTypes)).min(1).meta({ description: "The events to deliver." }),
  secret: SecretReference.meta({ description: "Where the signing secret is kept: whsec_ and base64, or any text." }),
  previousSecrets: previousSecrets("events are signed with them"),
});
const ownSecrets = z.array(SecretReference).min(1).max(10).optional();
const scheme = z
  .enum(INBOUND_SCHEMES)
  .default("any")
  .meta({ description: "Which signatures count: any, or v2 only, which signs the time too (Standard Webhooks)." });
const inboundEndpoint = (provider: string) =>
  z
    .strictObject({
      secrets: ownSecrets.meta({
        description: `Active secrets of the ${provider} alone; without them the shared ones count.`,
      }),
      scheme,
    })
    .optional();
const InboundKyc = z.strictObject({
  provider: z
    .enum(KYC_PROVIDERS)
    .optional()
    .meta({ description: "Whose own webhooks arrive at the KYC endpoint, beside the generic ones." }),
  secrets: ownSecrets.meta({
    description:
      "Active secrets of the KYC endpoint alone, those of the provider where one is named; without them the shared ones count.",
  }),
  genericSecrets: ownSecrets.meta({
    description: "Active secrets of generic webhooks beside a provider's; without them the shared ones count.",
  }),
  scheme,
});
const Inbound = z.strictObject({
  secrets: secretList.meta({
    description: "Active secrets of the endpoints that have none of their own; several while one is rotated.",
  }),
  stripe: secretList.meta({ description: "Active signing secrets of the Stripe endpoint." }),
  kyc: InboundKyc.optional().meta({ description: "Identity checks, also of a provider that signs in its own way." }),
  payments: inboundEndpoint("payment provider").meta({ description: "Deposits." }),
  oracle: inboundEndpoint("price source").meta({ description: "Prices that are sent to the tenant." }),
});
const Webhooks = z.strictObject({
  inbound: Inbound.prefault({}).meta({ description: "Secrets that incoming webhooks are verified with." }),
  outbound: z.array(OutboundWebhook).max(50).default([]).meta({ description: "Where events are sent." }),
});

const PerMinute = z.number().int().min(1).max(1_000_000);
const originList = z.array(Origin).max(200).default([]);

/** The tenant file. Every field has a description, which editors show. */
export const TenantFileSchema = z
  .strictObject({
    extends: z
      .union([text(1024), z.array(text(1024)).max(10)])
      .optional()
      .meta({
        description:
          "A file, or several, that this one builds on: mappings are merged, all else is replaced, later files win.",
      }),
    version: z.literal(1).meta({ description: "Version of this file's format." }),
    tenant: TenantId.meta({ description: "The tenant's id: its folder's name, and part of the webhook paths." }),
    name: line(200).optional().meta({ description: "Name for people; the id unless given." }),
    labels: TenantLabels.default({}).meta({
      description: "Names and values by which commands and fleet.yaml select the tenant, such as region: eu.",
    }),
    baseUrl: BaseUrl.meta({ description: "The tenant's own address; http:// for loopback hosts only." }),
    sandbox: z.boolean().default(false).meta({ description: "Allows simulated prices. Never with real money." }),
    server: Server.prefault({}).meta({ description: "Where the server listens." }),
    database: DatabaseSection.default("embedded").meta({
      description: "The embedded PostgreSQL, or the address of your own.",
    }),
    keys: Keys.meta({ description: "API keys, by secret reference." }),
    auth: z
      .strictObject({ jwt: Jwt.meta({ description: "How user tokens are verified." }) })
      .meta({ description: "Who users are." }),
    kyc: z
      .strictObject({
        required: z.boolean().default(true).meta({ description: "Users trade only after a passed identity check." }),
        provider: Name.optional().meta({ description: "Name of the identity provider." }),
      })
      .prefault({})
      .meta({ description: "Identity checks." }),
    webhooks: Webhooks.prefault({}).meta({ description: "Webhooks in and out." }),
    audit: AuditSection.meta({ description: "The audit log." }),
    treasury: z
      .strictObject({
        capitalUsd: UsdNumber.default(100_000).meta({
          description: "Opening capital; raising it later moves the difference in.",
        }),
      })
      .prefault({})
      .meta({ description: "The house's money." }),
    markets: z
      .strictObject({
        liquidityUsd: UsdNumber.positive()
          .default(1000)
          .meta({ description: "What the house risks on a market at most, unless the market says." }),
        search: z
          .string()
          .max(127)
          .regex(/^[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?$/, "must be the name of a text search configuration")
          .default("english")
          .meta({
            description:
              "Text search configuration of the database, such as english, german or simple: how the search of markets reduces words. Words that it drops are searched as they stand.",
          }),
        files: z
          .array(text(512))
          .max(100)
          .default([])
          .meta({ description: "Market files, relative to this folder; * matches." }),
      })
      .prefault({})
      .meta({ description: "Markets." }),
    policy: PolicyBlock.default({}).meta({
      description: "Limits that PUT /v1/policy can change too; what is not stated here is left alone.",
    }),
    rules: RulesSection.meta({
      description: "Rules in CEL over this file and every plan; validate, plan and apply hold them.",
    }),
    rateLimit: z
      .strictObject({
        perMinute: PerMinute.default(20).meta({ description: "Requests a minute and client address." }),
        adminPerMinute: PerMinute.optional().meta({
          description:
            "A bucket of its own for each valid admin key, so that traders at its address do not slow it down.",
        }),
        embedPerMinute: PerMinute.optional().meta({
          description:
            "Reads of the widget and the market pages, of each address; 600, or perMinute where that is more.",
        }),
        webhooksPerMinute: PerMinute.optional().meta({ description: "A bucket of their own for signed webhooks." }),
      })
      .prefault({})
      .meta({ description: "Requests a minute." }),
    logs: z
      .strictObject({
        keepDays: z.number().int().min(1).max(3650).default(7).meta({ description: "Days that lines are kept." }),
        maxMb: z.number().int().min(1).max(102_400).default(256).meta({ description: "Megabytes of all lines." }),
      })
      .prefault({})
      .meta({ description: "What serving processes keep for pmctl logs, in .pmctl/logs." }),
    oracle: OracleSection.prefault({}).meta({ description: "Prices that settle markets." }),
    network: z
      .strictObject({
        allowPrivate: z.array(Cidr).max(100).default([]).meta({
          description:
            "Private ranges that pmctl's own requests may reach, also by http. For tests and closed networks.",
        }),
        allowPorts: z.array(z.number().int().min(1).max(65_535)).max(100).default([]).meta({
          description: "Ports beyond 80 and 443 that pmctl's own requests may go to; in allowPrivate all are open.",
        }),
        allowHosts: z
          .array(OutgoingHost)
          .max(1000)
          .default([])
          .meta({
            description: "The only hosts that pmctl's own requests may go to; `*.` stands for one label. Empty: any.",
            examples: [["prices.acme.example", "*.feeds.example"]],
          }),
      })
      .prefault({})
      .meta({ description: "What pmctl may reach." }),
    embed: EmbedSection.prefault({}).meta({ description: "The embedded widget." }),
    pages: PagesSection.prefault({}).meta({ description: "The market pages." }),
    cors: z
      .strictObject({ origins: originList.meta({ description: "Sites whose scripts may call the API." }) })
      .prefault({})
      .meta({ description: "Cross-origin requests." }),
  })
  .meta({ title: "pmctl tenant file", description: "One tenant: its address, keys, policy, markets and feeds." });

export type TenantFile = z.output<typeof TenantFileSchema>;
