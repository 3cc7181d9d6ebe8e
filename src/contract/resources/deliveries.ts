import { z } from "zod";
import { operationsUnder } from "../operation.ts";
import { paging, Timestamp, text, UserId } from "../scalars.ts";

const ReceiverName = text(64).meta({
  description: "The receiver's name in the tenant file.",
  examples: ["backoffice"],
});
const StoredReceiver = z.string().meta({
  description: "The receiver's name in the tenant file.",
  examples: ["backoffice"],
});
const EventId = z.string().meta({ description: "The event's `webhook-id`.", examples: ["evt_42_0f3a9c51d2e87b64"] });
export const DeliveryStatus = z
  .enum(["pending", "delivered", "dead"])
  .meta({ id: "DeliveryStatus", description: "`dead` means given up; replaying it makes it `pending` again." });

export const WebhookDelivery = z
  .object({
    deliveryId: z.string().meta({ examples: ["evt_42_0f3a9c51d2e87b64.backoffice"] }),
    receiver: StoredReceiver,
    eventId: EventId,
    type: z.string().meta({ examples: ["order.filled"] }),
    sequence: z.number().int(),
    status: DeliveryStatus,
    attempts: z.number().int().min(0),
    createdAt: Timestamp.describe("When the event happened."),
    nextAttemptAt: Timestamp.nullable().describe("Null when no further attempt is planned."),
    lastAnswer: z
      .object({
        at: Timestamp.describe("When that attempt began."),
        status: z.number().int().nullable().describe("Null if the receiver did not respond."),
        excerpt: z.string().describe("The beginning of the response, or why there was none."),
      })
      .nullable(),
  })
  .meta({ id: "WebhookDelivery" });

export const DeliveryWithBody = WebhookDelivery.extend({
  body: z
    .string()
    .nullable()
    .describe(
      "The body, exactly as every attempt sends it; null if the audit log does not contain the event in sealed form.",
    ),
}).meta({ id: "WebhookDeliveryWithBody" });

export const DeliveryFilter = z.object({
  receiver: ReceiverName.optional(),
  status: DeliveryStatus.optional(),
  userId: UserId.optional().describe(
    "Only events of this user's trades, payments and identity checks. A request looks at some of these, so a page may have few or none and a next one.",
  ),
  ...paging,
});

export const WebhookReceiver = z
  .object({
    name: StoredReceiver,
    enabled: z.boolean().describe("False after the receiver answered 410, until it is enabled again."),
    disabledAt: Timestamp.nullable(),
    sequence: z.number().int().min(0).describe("The last audit entry whose events were queued for this receiver."),
    pending: z.number().int().min(0),
    dead: z.number().int().min(0),
    failures: z.number().int().min(0).describe("How many of the last attempts failed in a row, of any of its events."),
  })
  .meta({ id: "WebhookReceiver" });

/** What a provider sent, once for the same bytes: a repeat changes nothing. */
const InboundDelivery = z
  .object({
    receivedAt: Timestamp,
    provider: z.string().meta({
      description: "`payments`, `stripe`, or `kyc:` and the provider's name.",
      examples: ["payments"],
    }),
    event: z
      .string()
      .meta({ description: "What it reports, in the provider's words.", examples: ["deposit.completed"] }),
    reference: z.string().nullable().describe("The event's or the payment's id at the provider."),
    userId: z.string().nullable().describe("Whom it names."),
    outcome: z.string().meta({
      description:
        "What came of it: the types of the audit entries that it caused, `kept` for an event that is only stored, or `no effect`.",
      examples: ["wallet.credited"],
    }),
    sequence: z
      .number()
      .int()
      .nullable()
      .describe("The first entry that it caused; null without one, or if an operator acted for the provider."),
    sha256: z.string().describe("SHA-256 of the raw body, which is not kept if it caused an entry."),
  })
  .meta({ id: "InboundDelivery" });

const { operatorRead, operatorChange } = operationsUnder("operations", { extension: true });

export const deliveryOperations = {
  listWebhookDeliveries: operatorRead({
    path: "/v1/webhooks/deliveries",
    summary: "List the deliveries of outgoing webhooks, newest event first.",
    input: DeliveryFilter,
    output: z.array(WebhookDelivery),
    paged: true,
  }),
  getWebhookDelivery: operatorRead({
    path: "/v1/webhooks/deliveries/:id",
    summary: "Get one delivery of an outgoing webhook, with the body that its receiver gets.",
    input: z.object({ id: text(200).describe("The delivery's id.") }),
    output: DeliveryWithBody,
  }),
  replayWebhook: operatorChange("config", {
    path: "/v1/webhooks/deliveries/:id/replay",
    summary: "Send an event again, to one receiver or to all its receivers.",
    input: z.object({
      id: text(200).describe(
        "A delivery's id, or an event's id for all of its deliveries. Delivered events are sent again too.",
      ),
    }),
    output: z.object({ replayed: z.array(WebhookDelivery) }).meta({ id: "WebhooksReplayed" }),
    refusals: [],
  }),
  listInboundWebhooks: operatorRead({
    path: "/v1/webhooks/inbound",
    summary: "List the accepted webhooks of providers, newest first, each with what came of it.",
    input: z.object({
      provider: text(80).optional().describe("Only from this provider, such as `payments`, `stripe` or `kyc:sumsub`."),
      ...paging,
    }),
    output: z.array(InboundDelivery),
    paged: true,
  }),
  getInboundWebhook: operatorRead({
    path: "/v1/webhooks/inbound/:provider/:sha256",
    summary: "Get one accepted webhook of a provider, with its body if that was kept.",
    input: z.object({
      provider: text(80).describe("The provider, as the list shows it."),
      sha256: text(64).describe("SHA-256 of the raw body, as the list shows it."),
    }),
    output: InboundDelivery.extend({
      body: z
        .string()
        .nullable()
        .describe(
          "The raw body of an event that is only stored, up to 64 KiB; null for others, and if it was altered.",
        ),
    }).meta({ id: "InboundDeliveryWithBody" }),
  }),
  listWebhookReceivers: operatorRead({
    path: "/v1/webhooks/receivers",
    summary: "List the receivers of outgoing webhooks and how many events wait for each.",
    output: z.array(WebhookReceiver),
  }),
  enableWebhookReceiver: operatorChange("config", {
    path: "/v1/webhooks/receivers/:name/enable",
    summary: "Enable a receiver that was disabled because it answered 410.",
    input: z.object({ name: ReceiverName }),
    output: WebhookReceiver,
    refusals: [],
  }),
  testWebhookReceiver: operatorChange("config", {
    path: "/v1/webhooks/receivers/:name/test",
    summary: "Send a receiver the event `webhook.test`, signed and delivered as every other event.",
    input: z.object({ name: ReceiverName }),
    output: z
      .object({
        receiver: StoredReceiver,
        sequence: z.number().int().describe("The audit entry whose event is delivered."),
      })
      .meta({ id: "WebhookTest" }),
    refusals: [],
  }),
};
