import type { WebhookData, WebhookEventType } from "../../../contract/resources/webhooks.ts";
import { OPERATOR_ANSWERS } from "./operator-answers.ts";
import * as story from "./story.ts";
import { type OutputExamples, TRADER_ANSWERS } from "./trader-answers.ts";

/** The answers of the story by operation. An operation without an entry gets an example made from its schema. */
export const ANSWERS: OutputExamples = { ...TRADER_ANSWERS, ...OPERATOR_ANSWERS };

const { FILL, MARKET, QUESTION, SHARES, USER } = story;
const about = { marketId: MARKET, question: QUESTION };

const EVENTS: { readonly [Type in WebhookEventType]?: { at: string; data: WebhookData[Type] } } = {
  "order.filled": {
    at: FILL.ts,
    data: {
      sequence: 7,
      orderId: story.TRADE,
      tradeId: story.TRADE,
      userId: USER,
      ...about,
      side: FILL.side,
      action: FILL.action,
      outcome: 1,
      amount: FILL.amount,
      fee: FILL.fee,
      shares: SHARES,
      avgPrice: FILL.avgPrice,
      yesPriceAfter: FILL.yesPriceAfter,
      ts: FILL.ts,
      hedgeRef: story.HEDGE,
    },
  },
  "market.settled": {
    at: story.SETTLED_AT,
    data: {
      sequence: 9,
      ...about,
      status: "settled",
      outcome: "yes",
      settledAt: story.SETTLED_AT,
      payoutsProcessed: 1,
      paid: SHARES,
    },
  },
  "wallet.credited": {
    at: story.DEPOSITED_AT,
    data: { sequence: 6, userId: USER, amount: story.DEPOSIT, provider: "payments", txRef: "tx_0001" },
  },
};

/** The body of an outgoing event in the story. */
export function toldEvent(type: WebhookEventType) {
  const event = EVENTS[type];
  return event && { type, timestamp: event.at, data: event.data };
}
