import { inOrderOf } from "../../contract/encode.ts";
import { jsonFromMicro } from "../../contract/exact-number.ts";
import {
  type WebhookData,
  type WebhookEventType,
  webhookBodies,
  webhookEvents,
  webhookOperationId,
} from "../../contract/resources/webhooks.ts";
import type { AuditPayloads } from "../../domain/audit/audit-payloads.ts";
import { outcomeShown } from "../../domain/market/outcome.ts";
import { microFromDecimal, usdFromMicro } from "../../domain/money.ts";
import type { FollowedEntry } from "../../queries/stream.ts";
import { holdAgainst } from "../answers.ts";
import { recordedFillView } from "../markets/fill-view.ts";
import { proposalEventOf } from "./proposal-events.ts";

/** An event's identity, which never changes. */
export interface EventName {
  /** The `webhook-id`, by which a receiver recognises repeats. */
  id: string;
  type: WebhookEventType;
  /** The only receiver that gets it; undefined for all that ask for its type. */
  to?: string | undefined;
}

/** An event as it is sent, without its signature. */
export type OutgoingEvent = EventName &
  {
    [Type in WebhookEventType]: { type: Type; timestamp: string; data: WebhookData[Type] };
  }[WebhookEventType];

/** The events that audit entries cause; no entry causes an anchor. */
type LoggedEventType = Exclude<WebhookEventType, "audit.anchored">;

/** An event of an entry. Its data is computed only when it is sent. */
type LoggedEvent = {
  [Type in LoggedEventType]: { id: string; type: Type; to?: string; data: () => WebhookData[Type] };
}[LoggedEventType];

/** Enough of the entry's hash to keep ids unique, even in a database that was restored to an older state. */
const HASH_DIGITS = 16;

/**
 * The identities of an entry's events; most types have none. They depend only on the entry, so every server computes
 * the same ones.
 */
export function eventNamesOf(entry: FollowedEntry): (EventName & { type: LoggedEventType })[] {
  return loggedEventsOf(entry, "").map(({ id, type, to }) => ({ id, type, to }));
}

function suffixOf({ seq, hash }: Pick<FollowedEntry, "seq" | "hash">): string {
  return `${seq}_${hash.slice(0, HASH_DIGITS)}`;
}

/** The id of an entry's anchor event, the same on every server. */
export function anchorEventId(entry: Pick<FollowedEntry, "seq" | "hash">): string {
  return `anc_${suffixOf(entry)}`;
}

/**
 * The event of an anchor.
 * @param data the signed anchor
 */
export function anchorEvent(entry: FollowedEntry, data: WebhookData["audit.anchored"]): OutgoingEvent {
  return { id: anchorEventId(entry), type: "audit.anchored", timestamp: entry.ts, data };
}

/** The market of an entry, whose question its events include. */
export function marketOf({ content }: FollowedEntry): string | undefined {
  if (!content || !("marketId" in content.payload)) return undefined;
  return content.payload.marketId === undefined ? undefined : String(content.payload.marketId);
}

/**
 * The complete events of an entry.
 * @param question the market's question, which the log states only at the market's creation
 */
export function outgoingEventsOf(entry: FollowedEntry, question = ""): OutgoingEvent[] {
  return loggedEventsOf(entry, question).map(({ id, type, data }) => {
    const body = { type, timestamp: entry.ts, data: data() };
    return { id, ...holdAgainst(webhookOperationId(type), webhookBodies[type], body) } as OutgoingEvent;
  });
}

/** Exactly what is signed and sent, the same for every attempt. */
export function bodyOf({ type, timestamp, data }: OutgoingEvent): string {
  return JSON.stringify({ type, timestamp, data });
}

/** The events that an entry causes. A failed identity check also notifies the user. */
function loggedEventsOf(entry: FollowedEntry, question: string): LoggedEvent[] {
  const { content, ts } = entry;
  const id = `evt_${suffixOf(entry)}`;
  const sequence = Number(entry.seq);
  const market = ({ marketId }: { marketId: string }) => ({ sequence, marketId: String(marketId), question });
  switch (content?.type) {
    case "trade.executed":
      return [{ id, type: "order.filled", data: () => orderFilled(content.payload, { sequence, question, ts }) }];
    case "market.created": {
      const { category, kind, p0, closeAt, resolutionRef } = content.payload;
      const terms = { category, kind, p0: Number(p0), closeAt, resolutionRef };
      return [{ id, type: "market.created", data: () => ({ ...market(content.payload), status: "open", ...terms }) }];
    }
    case "market.suspended":
      return [{ id, type: "market.suspended", data: () => ({ ...market(content.payload), status: "suspended" }) }];
    case "market.resumed":
      return [{ id, type: "market.resumed", data: () => ({ ...market(content.payload), status: "open" }) }];
    case "market.closed": {
      const closing = { status: "closed", closeAt: content.payload.closeAt } as const;
      return [{ id, type: "market.closed", data: () => ({ ...market(content.payload), ...closing }) }];
    }
    case "market.clarified": {
      const added = { id: String(content.payload.id), text: content.payload.text };
      return [{ id, type: "market.clarified", data: () => ({ ...market(content.payload), ...added }) }];
    }
    case "market.settled": {
      const { outcome, payouts, paid } = content.payload;
      const end = {
        status: "settled",
        outcome: outcomeShown(outcome),
        settledAt: ts,
        payoutsProcessed: Number(payouts),
        paid: wireUsd(paid),
      } as const;
      return [{ id, type: "market.settled", data: () => ({ ...market(content.payload), ...end }) }];
    }
    case "market.voided": {
      const { reason, payoutsProcessed, refunded, fromFees, fromTreasury, toTreasury } = content.payload;
      const sums = {
        ...{ refunded: wireUsd(refunded), fromFees: wireUsd(fromFees) },
        ...{ fromTreasury: wireUsd(fromTreasury), toTreasury: wireUsd(toTreasury) },
      };
      const end = { status: "settled", settledAt: ts, reason, payoutsProcessed, ...sums } as const;
      return [{ id, type: "market.voided", data: () => ({ ...market(content.payload), ...end }) }];
    }
    case "market.corrected": {
      const { from, outcome, reason, takenBack, receivables, paid } = content.payload;
      const change = { from: outcomeShown(from), outcome: outcomeShown(outcome), correctedAt: ts, reason };
      const sums = { takenBack: wireUsd(takenBack), receivables: wireUsd(receivables), paid: wireUsd(paid) };
      const correction = { status: "settled", ...change, ...sums } as const;
      return [{ id, type: "market.corrected", data: () => ({ ...market(content.payload), ...correction }) }];
    }
    case "proposal.created":
    case "proposal.approved":
    case "proposal.objected":
    case "proposal.rejected":
    case "proposal.executed":
      return [{ id, ...proposalEventOf(content, { sequence, question }) }];
    case "wallet.credited": {
      const { userId, amount, provider, txRef, cause } = content.payload;
      const credit = { sequence, userId, amount: Number(amount), provider, txRef, cause };
      return [{ id, type: "wallet.credited", data: () => credit }];
    }
    case "kyc.updated": {
      const { userId, status, provider, verifiedAt, jurisdiction } = content.payload;
      const check = { sequence, userId, status, provider, verifiedAt, jurisdiction };
      const updated: LoggedEvent = { id, type: "kyc.updated", data: () => check };
      if (status !== "failed") return [updated];
      const reason = `Identity verification by ${provider} failed`;
      const failed = { sequence, userId: String(userId), kind: "kyc.failed", reason } as const;
      return [updated, { id: `ntf_${suffixOf(entry)}`, type: "user.notified", data: () => failed }];
    }
    case "webhook.tested": {
      const { receiver } = content.payload;
      return [{ id, type: "webhook.test", to: receiver, data: () => ({ sequence, receiver }) }];
    }
    default:
      return [];
  }
}

const wireUsd = (decimal: string) => jsonFromMicro(microFromDecimal(decimal));

/** A trade is an order that is filled at once, under the same identifier. */
function orderFilled(
  payload: AuditPayloads["trade.executed"],
  { sequence, question, ts }: { sequence: number; question: string; ts: string },
): WebhookData["order.filled"] {
  const { tradeId, userId, side, hedgeRef, cost } = payload;
  return inOrderOf(webhookEvents["order.filled"], {
    sequence,
    orderId: tradeId,
    tradeId,
    userId,
    question,
    outcome: side === "yes" ? 1 : 0,
    ...recordedFillView(payload, ts),
    ...(cost === undefined ? {} : { realizedPnl: realizedUsd(payload, cost) }),
    ...(hedgeRef === undefined ? {} : { hedgeRef }),
  });
}

/** @param cost the shares' cost as decimal text */
function realizedUsd({ amount, fee }: AuditPayloads["trade.executed"], cost: string): number {
  return usdFromMicro(microFromDecimal(amount) - microFromDecimal(fee) - microFromDecimal(cost));
}
