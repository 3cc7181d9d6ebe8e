import { z } from "zod";
import { INBOUND_SCHEMES, webhookEventTypes } from "../../contract/resources/webhooks.ts";
import { Name } from "../../contract/scalars.ts";
import { listOf, OutgoingUrl, previousSecrets, SecretReference } from "./scalars.ts";

/** Identity providers whose own signatures and payloads pmctl understands. */
const KYC_PROVIDERS = ["sumsub", "persona", "veriff", "onfido"] as const;
const secretList = listOf(SecretReference, 10);
const OutboundWebhook = z.strictObject({
  name: Name.describe("Unique among the tenant's outgoing webhooks."),
  url: OutgoingUrl.meta({
    description: "Address to which events are delivered.",
    examples: ["https://crm.acme.example/hook"],
  }),
  events: z
    .array(z.enum(webhookEventTypes).exclude(["webhook.test"]))
    .min(1)
    .meta({ description: "The events to deliver.", examples: [["order.filled", "market.settled"]] }),
  secret: SecretReference.describe("Reference to the signing secret: whsec_ and base64, or any text."),
  previousSecrets: previousSecrets("events are signed with them"),
});
const ownSecrets = z.array(SecretReference).min(1).max(10).optional();
const scheme = z
  .enum(INBOUND_SCHEMES)
  .default("any")
  .describe("Accepted signatures: any, or only v2, which also signs the time (Standard Webhooks).");
const inboundEndpoint = (provider: string) =>
  z
    .strictObject({
      secrets: ownSecrets.describe(`Active secrets of the ${provider}; the default is the shared ones.`),
      scheme,
    })
    .optional();
const InboundKyc = z.strictObject({
  provider: z
    .enum(KYC_PROVIDERS)
    .optional()
    .describe("The provider whose webhooks the KYC endpoint accepts besides generic ones."),
  secrets: ownSecrets.describe(
    "Active secrets of the KYC endpoint, those of the provider if one is named; the default is the shared ones.",
  ),
  genericSecrets: ownSecrets.describe(
    "Active secrets of generic webhooks besides a provider's; the default is the shared ones.",
  ),
  scheme,
});
const Inbound = z.strictObject({
  secrets: secretList.describe("Active secrets for all endpoints without their own; several during a rotation."),
  stripe: secretList.describe("Active signing secrets of the Stripe endpoint."),
  kyc: InboundKyc.optional().describe("Identity checks, including those of a provider with its own signature scheme."),
  payments: inboundEndpoint("payment provider").describe("Deposits."),
  oracle: inboundEndpoint("price source").describe("Prices that a source sends to the tenant."),
});
/** Secrets of webhooks in, and receivers of webhooks out. */
export const WebhooksSection = z.strictObject({
  inbound: Inbound.prefault({}).describe("Secrets that verify incoming webhooks."),
  outbound: listOf(OutboundWebhook, 50).describe("Where events are sent."),
});
