import {
  type WebhookData,
  type WebhookEventType,
  webhookBodies,
  webhookOperationId,
} from "../contract/resources/webhooks.ts";
import { payloadOf } from "../domain/audit/audit-link.ts";
import { averagePrice, microFromDecimal, usdFromMicro } from "../domain/money.ts";
import type { FollowedEntry } from "../queries/stream.ts";
import { holdAgainst } from "../services/answers.ts";

/** What names an event for ever. */
export interface EventName {
  /** The receiver's key against repeats (`webhook-id`). */
  id: string;
  type: WebhookEventType;
}

/** An event as it is sent, but for its signature. */
export type OutgoingEvent = EventName &
  {
    [Type in WebhookEventType]: { type: Type; timestamp: string; data: WebhookData[Type] };
  }[WebhookEventType];

type Payload = Record<string, unknown>;

/** Events that an audit entry causes; an anchor is about an entry, and caused by none. */
type LoggedEventType = Exclude<WebhookEventType, "audit.anchored">;

/** The events that an audit entry of a type causes. A failed identity check is also something to tell the user. */
const TYPES: Readonly<Record<string, LoggedEventType>> = {
  "trade.executed": "order.filled",
  "market.created": "market.created",
  "market.suspended": "market.suspended",
  "market.resumed": "market.resumed",
  "market.closed": "market.closed",
  "market.settled": "market.settled",
  "wallet.credited": "wallet.credited",
  "kyc.updated": "kyc.updated",
};

/** Enough of the entry's hash that an id is never used twice, not even by a database that was put back to an older state. */
const HASH_DIGITS = 16;

/**
 * The names of the events of an entry; none for most types. They follow from the entry alone, so whoever reads the log
 * gives them alike, however often.
 */
export function eventNamesOf(entry: FollowedEntry): (EventName & { type: LoggedEventType })[] {
  const event = TYPES[entry.type];
  const payload: Payload = payloadOf(entry);
  if (event === undefined || Object.keys(payload).length === 0) return [];
  const suffix = suffixOf(entry);
  const names: ReturnType<typeof eventNamesOf> = [{ id: `evt_${suffix}`, type: event }];
  if (entry.type === "kyc.updated" && payload.status === "failed")
    names.push({ id: `ntf_${suffix}`, type: "user.notified" });
  return names;
}

function suffixOf({ seq, hash }: Pick<FollowedEntry, "seq" | "hash">): string {
  return `${seq}_${hash.slice(0, HASH_DIGITS)}`;
}

/** The id of the event that says how far the log has come: every server gives it alike. */
export function anchorEventId(entry: Pick<FollowedEntry, "seq" | "hash">): string {
  return `anc_${suffixOf(entry)}`;
}

/** The event of an anchor. @param data the signed line */
export function anchorEvent(entry: FollowedEntry, data: WebhookData["audit.anchored"]): OutgoingEvent {
  return { id: anchorEventId(entry), type: "audit.anchored", timestamp: entry.ts, data };
}

/** The market that an entry is about, whose question its events carry. */
export function marketOf(entry: FollowedEntry): string | undefined {
  const { marketId }: Payload = payloadOf(entry);
  return marketId === undefined ? undefined : String(marketId);
}

/**
 * The events of an entry, whole.
 * @param question that of the market; the log states it once, when the market is created
 */
export function outgoingEventsOf(entry: FollowedEntry, question = ""): OutgoingEvent[] {
  const payload: Payload = payloadOf(entry);
  return eventNamesOf(entry).map(({ id, type }) => {
    const body = { type, timestamp: entry.ts, data: dataOf(type, payload, entry, question) };
    return { id, ...holdAgainst(webhookOperationId(type), webhookBodies[type], body) } as OutgoingEvent;
  });
}

/** Exactly what is signed and sent, the same for every attempt. */
export function bodyOf({ type, timestamp, data }: OutgoingEvent): string {
  return JSON.stringify({ type, timestamp, data });
}

function dataOf(type: LoggedEventType, payload: Payload, entry: FollowedEntry, question: string) {
  const sequence = Number(entry.seq);
  const market = { sequence, marketId: String(payload.marketId), question };
  const { closeAt, outcome } = payload;
  switch (type) {
    case "order.filled":
      return orderFilled(payload, entry, question);
    case "market.created": {
      const { category, kind, p0, resolutionRef } = payload;
      return { ...market, status: "open", category, kind, p0: Number(p0), closeAt, resolutionRef };
    }
    case "market.suspended":
      return { ...market, status: "suspended" };
    case "market.resumed":
      return { ...market, status: "open" };
    case "market.closed":
      return { ...market, status: "closed", closeAt };
    case "market.settled": {
      const totals = { payoutsProcessed: Number(payload.payouts), paid: Number(payload.paid) };
      return { ...market, status: "settled", outcome, settledAt: entry.ts, ...totals };
    }
    case "wallet.credited": {
      const { userId, amount, provider, txRef, cause } = payload;
      return { sequence, userId, amount: Number(amount), provider, txRef, cause };
    }
    case "kyc.updated": {
      const { userId, status, provider, verifiedAt, jurisdiction } = payload;
      return { sequence, userId, status, provider, verifiedAt, jurisdiction };
    }
    case "user.notified":
      return {
        sequence,
        userId: String(payload.userId),
        kind: "kyc.failed",
        reason: `Identity verification by ${String(payload.provider)} failed`,
      };
  }
}

/** A trade is an order that was filled at once, under the same identifier. */
function orderFilled(payload: Payload, { seq, ts }: FollowedEntry, question: string) {
  const micro = (field: string): bigint => microFromDecimal(String(payload[field]));
  const [amountMicro, feeMicro, sharesMicro] = [micro("amount"), micro("fee"), micro("shares")];
  const sold = payload.action === "sell";
  return {
    sequence: Number(seq),
    orderId: payload.tradeId,
    tradeId: payload.tradeId,
    userId: payload.userId,
    marketId: payload.marketId,
    question,
    side: payload.side,
    outcome: payload.side === "yes" ? 1 : 0,
    ...(sold ? { action: "sell" } : {}),
    amount: usdFromMicro(amountMicro),
    fee: usdFromMicro(feeMicro),
    shares: usdFromMicro(sharesMicro),
    avgPrice: averagePrice(amountMicro, sharesMicro),
    yesPriceAfter: Number(payload.yesPriceAfter),
    ...(sold ? { realizedPnl: usdFromMicro(amountMicro - feeMicro - micro("cost")) } : {}),
    ts,
    ...(payload.hedgeRef === undefined ? {} : { hedgeRef: payload.hedgeRef }),
  };
}
