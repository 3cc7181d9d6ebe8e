import { z } from "zod";
import { MarketId, MarketKind, Price, Question, Side, Timestamp, Usd, UserId } from "../scalars.ts";
import { fillFields, HedgeRef, NumericOutcome } from "./trading.ts";

/** Endpoints with webhooks of our own format; each may have its own secrets. */
export const INBOUND_ENDPOINTS = ["kyc", "payments", "oracle"] as const;
export type InboundEndpoint = (typeof INBOUND_ENDPOINTS)[number];

/** `v2` signs the time too, after Standard Webhooks; `any` takes the older `X-Signature` beside it. */
export const INBOUND_SCHEMES = ["any", "v2"] as const;
export type InboundScheme = (typeof INBOUND_SCHEMES)[number];

const sequence = z
  .number()
  .int()
  .min(1)
  .describe("The number of the audit entry: a later event has a higher one, so it orders events.");
const market = { sequence, marketId: MarketId, question: Question };

const { marketId, side, action, amount, fee, shares, avgPrice, yesPriceAfter, ts } = fillFields;

/** Events are made in the order of these fields; `webhookEvents` says why a released order is kept. */
const OrderFilled = z
  .object({
    sequence,
    orderId: z.string(),
    tradeId: z.string(),
    userId: UserId,
    marketId,
    question: Question,
    side,
    outcome: NumericOutcome,
    action: action.describe("Whether shares were bought or sold."),
    amount,
    fee,
    shares,
    avgPrice,
    yesPriceAfter,
    realizedPnl: Usd.optional().describe("A sale's net proceeds less the cost of its shares."),
    ts,
    hedgeRef: HedgeRef.optional(),
  })
  .meta({ id: "OrderFilledData", description: "A trade was executed." });

const MarketCreated = z
  .object({
    ...market,
    status: z.literal("open"),
    category: z.string(),
    kind: MarketKind,
    p0: Price,
    closeAt: Timestamp,
    resolutionRef: z.string(),
  })
  .meta({ id: "MarketCreatedData", description: "A market takes trades." });
const MarketSuspended = z
  .object({ ...market, status: z.literal("suspended") })
  .meta({ id: "MarketSuspendedData", description: "A market takes no trades until it is resumed." });
const MarketResumed = z
  .object({ ...market, status: z.literal("open") })
  .meta({ id: "MarketResumedData", description: "A suspended market takes trades again." });
const MarketClosed = z
  .object({ ...market, status: z.literal("closed"), closeAt: Timestamp })
  .meta({ id: "MarketClosedData", description: "A market's closing time has passed." });
const MarketSettled = z
  .object({
    ...market,
    status: z.literal("settled"),
    outcome: Side,
    settledAt: Timestamp,
    payoutsProcessed: z.number().int().min(0),
    paid: Usd.describe("The total paid to all winners."),
  })
  .meta({ id: "MarketSettledData", description: "A market's winners were paid." });

const WalletCredited = z
  .object({
    sequence,
    userId: UserId,
    amount: Usd,
    provider: z.string(),
    txRef: z.string().optional().describe("The provider's reference."),
    cause: z.string().optional().describe("Present when money was returned, such as after a dispute that was won."),
  })
  .meta({ id: "WalletCreditedData", description: "A user's wallet was credited." });
const KycUpdated = z
  .object({
    sequence,
    userId: UserId,
    status: z.enum(["passed", "failed", "review"]),
    provider: z.string(),
    verifiedAt: Timestamp,
    jurisdiction: z
      .string()
      .optional()
      .meta({ examples: ["US-NY"] }),
  })
  .meta({ id: "KycUpdatedData", description: "An identity verification changed what a user may do." });
const UserNotified = z
  .object({
    sequence,
    userId: UserId,
    kind: z.literal("kyc.failed").describe("What the user should be told about."),
    reason: z.string().meta({ examples: ["Identity verification by sumsub failed"] }),
  })
  .meta({
    id: "UserNotifiedData",
    description: "The user should be notified; the receiver knows how to reach the user.",
  });

const AuditAnchored = z
  .object({
    tenant: z.string(),
    seq: sequence,
    hash: z.string().describe("The entry's hash, which covers every entry up to it."),
    ts: Timestamp.describe("The entry's own time."),
    keyId: z.string().describe("The audit key that signed this."),
    signature: z
      .string()
      .describe("Hex HMAC-SHA256 over pmctl-anchor-v1, tenant, seq, hash, ts and keyId, a line each."),
  })
  .meta({
    id: "AuditAnchoredData",
    description:
      "A signed statement of the audit log's latest entry; keep it to prove later that the log was not rewritten.",
  });

/**
 * The data of each outgoing event, by its type. The order of the fields is part of the format: a delivery that is
 * repeated, also by a later version, has the same bytes under the same `webhook-id`.
 */
export const webhookEvents = {
  "order.filled": OrderFilled,
  "market.created": MarketCreated,
  "market.suspended": MarketSuspended,
  "market.resumed": MarketResumed,
  "market.closed": MarketClosed,
  "market.settled": MarketSettled,
  "wallet.credited": WalletCredited,
  "kyc.updated": KycUpdated,
  "user.notified": UserNotified,
  "audit.anchored": AuditAnchored,
} as const;

export type WebhookEventType = keyof typeof webhookEvents;
export const webhookEventTypes = Object.keys(webhookEvents) as [WebhookEventType, ...WebhookEventType[]];

/** The data in wire form. */
export type WebhookData = { [Type in WebhookEventType]: z.input<(typeof webhookEvents)[Type]> };

/** The body of each event, named as the OpenAPI document names it. */
export const webhookBodies: Readonly<Record<WebhookEventType, z.ZodObject>> = Object.fromEntries(
  webhookEventTypes.map((type) => [type, bodyOf(type)]),
) as Record<WebhookEventType, z.ZodObject>;

/** The operation id of an event's webhook in the OpenAPI document. */
export function webhookOperationId(type: WebhookEventType): string {
  return `on${String(webhookBodies[type].meta()?.id)}`;
}

function bodyOf(type: WebhookEventType): z.ZodObject {
  const data: z.ZodObject = webhookEvents[type];
  const id = String(data.meta()?.id).replace(/Data$/, "Webhook");
  return z
    .object({ type: z.literal(type), timestamp: Timestamp.describe("When it happened."), data })
    .meta({ id, description: String(data.meta()?.description) });
}
