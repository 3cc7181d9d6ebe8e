import type { Refused } from "./api.ts";
import type { ActionName } from "./protocol.ts";

/** A refusal explained to a trader, and what the page can offer to do about it. */
export interface Words {
  text: string;
  offer?: Offer;
  /** Seconds until it makes sense to try again. */
  waitSec?: number;
}

export type Offer = "sign-in" | "deposit" | "suitability" | "verify";

/** What the widget offers and the host page carries out: the label of a button here, and the event that tells the page. */
export const OFFERS: Record<Offer, { label: string; event: ActionName }> = {
  "sign-in": { label: "Sign in", event: "signin" },
  deposit: { label: "Add money", event: "deposit" },
  suitability: { label: "Answer the questions", event: "suitability" },
  verify: { label: "Verify identity", event: "verify" },
};

const WORDS: Record<string, Words> = {
  MARKET_CLOSED: { text: "This market has closed. Its result is being decided." },
  MARKET_SUSPENDED: { text: "Trading is paused at the moment. Your positions are kept." },
  MARKET_SETTLED: { text: "This market is settled." },
  MARKET_NOT_FOUND: { text: "There is no such market, or none is open at the moment." },
  KYC_REQUIRED: { text: "Your identity has to be verified before you can trade.", offer: "verify" },
  ACCOUNT_RESTRICTED: { text: "Your account may not trade at the moment. Please contact support." },
  JURISDICTION_BLOCKED: { text: "Trading is not available where you live." },
  SUITABILITY_REQUIRED: {
    text: "Answer a few questions first: they set how much you can trade.",
    offer: "suitability",
  },
  INSUFFICIENT_FUNDS: { text: "There is not enough money in your wallet for this.", offer: "deposit" },
  PRICE_BOUND: { text: "This would move the price too far. Try a smaller amount." },
  COST_EXCEEDS_PAYOUT: {
    text: "With the fee this costs more than it could ever pay. Wait for a lower price, or choose the other side.",
  },
  AMOUNT_TOO_SMALL: { text: "That is too little to buy a share." },
  SLIPPAGE: { text: "The price has moved since you looked. Nothing was bought: check the new price and try again." },
  USER_REQUIRED: { text: "Please sign in to trade.", offer: "sign-in" },
  KEY_INVALID: { text: "This widget is not connected to its service any more." },
  RATE_LIMITED: { text: "Too many requests from your network." },
  OVERLOADED: { text: "Very many people are trading right now." },
  OUTCOME_UNKNOWN: { text: "The connection was lost on the way. Try again: this purchase is never made twice." },
  UNREACHABLE: { text: "The service cannot be reached. Try again: this purchase is never made twice." },
  STANDBY_REQUIRED: { text: "The service is not available at the moment." },
  DATABASE_UNAVAILABLE: { text: "The service is not available at the moment." },
  INTERNAL: { text: "Something went wrong. Try again: this purchase is never made twice." },
};

/** After these the purchase may have happened: only the same purchase, with the same key, may be tried again. */
const UNSURE: readonly string[] = ["OUTCOME_UNKNOWN", "UNREACHABLE", "INTERNAL", "DATABASE_UNAVAILABLE"];

export function mayHaveHappened({ code }: Refused): boolean {
  return UNSURE.includes(code);
}

/** The words for a refusal. Codes without an entry, such as limits, keep the server's message, which states the number. */
export function wordsFor({ code, message, retryAfterSec }: Refused): Words {
  const words = WORDS[code] ?? { text: `${message}.`.replace(/\.\.$/, ".") };
  return retryAfterSec > 0 ? { ...words, waitSec: retryAfterSec } : words;
}
