import { z } from "zod";
import { MarketId, MarketKind, Outcome, Price, Question, SettledOutcome, Timestamp, Usd, UserId } from "../scalars.ts";
import { ProposalId, ProposalKind, ProposalState } from "./ends/proposals.ts";
import { fillFields, HedgeRef, NumericOutcome } from "./trading.ts";

/** `v2` (Standard Webhooks) signs the time too; `any` also accepts the older `X-Signature`. */
export const INBOUND_SCHEMES = ["any", "v2"] as const;
export type InboundScheme = (typeof INBOUND_SCHEMES)[number];

const sequence = z
  .number()
  .int()
  .min(1)
  .describe("The number of the audit entry. A later event has a higher number, so it orders events.");
const status = <State extends string>(state: State) =>
  z.literal(state).describe("The market's status after this event.");
const market = { sequence, marketId: MarketId, question: Question };

const { marketId, side, action, amount, fee, shares, avgPrice, yesPriceAfter, ts } = fillFields;

/** Webhook bodies keep the order of these fields; `webhookEvents` says why a released order never changes. */
const OrderFilled = z
  .object({
    sequence,
    orderId: z.string().describe("The order's id, the same as `tradeId`."),
    tradeId: z.string().describe("The trade's id."),
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
    status: status("open"),
    category: z.string().describe("The slug of the market's category."),
    kind: MarketKind,
    p0: Price,
    closeAt: Timestamp,
    resolutionRef: z.string().describe("The source that decides the outcome, in readable form."),
  })
  .meta({ id: "MarketCreatedData", description: "A new market accepts trades." });
const MarketSuspended = z
  .object({ ...market, status: status("suspended") })
  .meta({ id: "MarketSuspendedData", description: "A market accepts no trades until it is resumed." });
const MarketResumed = z
  .object({ ...market, status: status("open") })
  .meta({ id: "MarketResumedData", description: "A suspended market accepts trades again." });
const MarketClosed = z
  .object({ ...market, status: status("closed"), closeAt: Timestamp })
  .meta({ id: "MarketClosedData", description: "A market's closing time has passed." });
const MarketClarified = z
  .object({
    ...market,
    id: z.string().describe("The clarification's id."),
    text: z.string().describe("The text, as added to the market's rules."),
  })
  .meta({ id: "MarketClarifiedData", description: "A text was added to a market's rules." });
const MarketSettled = z
  .object({
    ...market,
    status: status("settled"),
    outcome: SettledOutcome,
    settledAt: Timestamp,
    payoutsProcessed: z.number().int().min(0).describe("Number of positions that were paid more than 0."),
    paid: Usd.describe("The total paid to these positions."),
  })
  .meta({ id: "MarketSettledData", description: "A market was settled: the positions of its outcome were paid." });

const MarketVoided = z
  .object({
    ...market,
    status: status("settled"),
    settledAt: Timestamp,
    reason: z.string().describe("Why, as traders read it."),
    payoutsProcessed: z.number().int().min(0).describe("Number of positions that got back more than 0."),
    refunded: Usd.describe("What they got back in all: what they cost, fees included."),
    fromFees: Usd.describe("The part of it that came from the house's fees."),
    fromTreasury: Usd.describe("What the treasury added because the escrow lacked it."),
    toTreasury: Usd.describe("What went back to the treasury."),
  })
  .meta({ id: "MarketVoidedData", description: "A market was undone: open positions got back what they cost." });
const MarketCorrected = z
  .object({
    ...market,
    status: status("settled"),
    from: Outcome.describe("The outcome until then."),
    outcome: Outcome,
    correctedAt: Timestamp,
    reason: z.string().describe("Why, as traders read it."),
    takenBack: Usd.describe("What users with less gave back in all."),
    receivables: Usd.describe("The part of it that their wallets lacked, so that they owe it."),
    paid: Usd.describe("What users with more were paid in all."),
  })
  .meta({ id: "MarketCorrectedData", description: "A settled market got another outcome." });

const proposal = {
  sequence,
  proposalId: ProposalId,
  kind: ProposalKind,
  status: ProposalState.describe("The proposal's state after this event."),
  marketId: MarketId.optional().describe("The market whose end or correction is proposed; absent for other kinds."),
  question: Question.optional().describe("The market's question."),
  outcome: Outcome.optional().describe("The outcome that it would give the market."),
  finalAt: Timestamp.describe("The earliest time of its execution."),
};
const approvalsNeeded = z.number().int().min(1).describe("How many actors must agree, the proposer among them.");
const ProposalCreated = z
  .object({
    ...proposal,
    reason: z.string().optional().describe("Why, as the proposer wrote it."),
    evidence: z.json().optional().describe("What the decision rests on."),
    approvalsNeeded,
  })
  .meta({ id: "ProposalCreatedData", description: "A change waits for other actors, for its time, or for both." });
const ProposalApproved = z
  .object({
    ...proposal,
    approvals: z.number().int().min(1).describe("How many actors agree now."),
    approvalsNeeded,
  })
  .meta({ id: "ProposalApprovedData", description: "Another actor agreed to a proposal." });
const ProposalObjected = z
  .object({
    ...proposal,
    userId: UserId,
    reason: z.string().describe("Why, as the user wrote it."),
    objections: z.number().int().min(1).describe("How many users object now."),
  })
  .meta({ id: "ProposalObjectedData", description: "A user objected: only a person can execute the proposal now." });
const ProposalRejected = z
  .object({
    ...proposal,
    reason: z.string().describe("Why, as the operator wrote it."),
  })
  .meta({ id: "ProposalRejectedData", description: "A proposal ended without its work." });
const ProposalExecuted = z.object(proposal).meta({
  id: "ProposalExecutedData",
  description: "A proposal was executed; events before this one say what it did.",
});

const WalletCredited = z
  .object({
    sequence,
    userId: UserId,
    amount: Usd,
    provider: z.string().describe("The source of the credit, such as a payment provider."),
    txRef: z.string().optional().describe("The provider's reference."),
    cause: z.string().optional().describe("Why money was returned, such as a won dispute; absent for other credits."),
  })
  .meta({ id: "WalletCreditedData", description: "A user's wallet was credited." });
const KycUpdated = z
  .object({
    sequence,
    userId: UserId,
    status: z.enum(["passed", "failed", "review"]).describe("The result; `review` means that a person must decide."),
    provider: z.string().describe("The name of the identity provider."),
    verifiedAt: Timestamp,
    jurisdiction: z
      .string()
      .optional()
      .meta({ description: "The user's place: an ISO 3166 country, or a country and region.", examples: ["US-NY"] }),
  })
  .meta({ id: "KycUpdatedData", description: "An identity verification changed what a user may do." });
const UserNotified = z
  .object({
    sequence,
    userId: UserId,
    kind: z.literal("kyc.failed").describe("The topic of the notification."),
    reason: z.string().meta({
      description: "What happened, as a sentence for the user.",
      examples: ["Identity verification by sumsub failed"],
    }),
  })
  .meta({
    id: "UserNotifiedData",
    description: "The user should be notified; the receiver knows how to reach the user.",
  });

const AuditAnchored = z
  .object({
    tenant: z.string().describe("The tenant's id."),
    seq: sequence,
    hash: z.string().describe("The entry's hash, which covers every entry up to it."),
    ts: Timestamp.describe("The entry's own time."),
    keyId: z.string().describe("The id of the audit key that signed this statement."),
    signature: z
      .string()
      .describe("Hex HMAC-SHA256 over pmctl-anchor-v1, tenant, seq, hash, ts and keyId, each on its own line."),
  })
  .meta({
    id: "AuditAnchoredData",
    description:
      "A signed statement of the audit log's latest entry; keep it to prove later that the log was not rewritten.",
  });

const WebhookTested = z
  .object({ sequence, receiver: z.string().describe("The receiver's name in the tenant file.") })
  .meta({
    id: "WebhookTestData",
    description:
      "An operator tests the receiver, which gets this whichever events it asks for. Nothing else happened: accept and ignore it.",
  });

/**
 * The data of each outgoing event, by type. The order of fields is part of the format: a repeated delivery, even by a
 * later version, has the same bytes under the same `webhook-id`.
 */
export const webhookEvents = {
  "order.filled": OrderFilled,
  "market.created": MarketCreated,
  "market.suspended": MarketSuspended,
  "market.resumed": MarketResumed,
  "market.closed": MarketClosed,
  "market.settled": MarketSettled,
  "market.voided": MarketVoided,
  "market.corrected": MarketCorrected,
  "market.clarified": MarketClarified,
  "proposal.created": ProposalCreated,
  "proposal.approved": ProposalApproved,
  "proposal.objected": ProposalObjected,
  "proposal.rejected": ProposalRejected,
  "proposal.executed": ProposalExecuted,
  "wallet.credited": WalletCredited,
  "kyc.updated": KycUpdated,
  "user.notified": UserNotified,
  "audit.anchored": AuditAnchored,
  "webhook.test": WebhookTested,
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
    .object({ type: z.literal(type), timestamp: Timestamp.describe("When the event happened."), data })
    .meta({ id, description: String(data.meta()?.description) });
}
