import type { Refused } from "./api.ts";

/** What a refusal means to a trader, and what the page can offer about it. */
export interface Words {
  text: string;
  offer?: "sign-in" | "deposit" | "suitability" | "verify";
}

const WORDS: Record<string, Words> = {
  MARKET_CLOSED: { text: "This market has closed. Its result is being decided." },
  MARKET_SUSPENDED: { text: "Trading is paused at the moment. Your positions are kept." },
  MARKET_SETTLED: { text: "This market is settled." },
  KYC_REQUIRED: { text: "Your identity has to be verified before you can trade.", offer: "verify" },
  ACCOUNT_RESTRICTED: { text: "Your account may not trade at the moment. Please contact support." },
  JURISDICTION_BLOCKED: { text: "Trading is not available where you live." },
  SUITABILITY_REQUIRED: {
    text: "Answer a few questions first: they set how much you can trade.",
    offer: "suitability",
  },
  INSUFFICIENT_FUNDS: { text: "There is not enough money in your wallet for this.", offer: "deposit" },
  INSUFFICIENT_SHARES: { text: "You hold fewer shares than that." },
  PRICE_BOUND: { text: "This would move the price too far. Try a smaller amount." },
  AMOUNT_TOO_SMALL: { text: "That is too little to buy a share." },
  SLIPPAGE: { text: "The price has moved since you looked. Nothing was bought: check the new price and try again." },
  USER_REQUIRED: { text: "Please sign in to trade.", offer: "sign-in" },
  KEY_INVALID: { text: "This widget is not connected to its service any more." },
  OVERLOADED: { text: "Very many people are trading right now. Please try again in a moment." },
  OUTCOME_UNKNOWN: { text: "The connection to the ledger was lost. Try again: a trade is never made twice." },
  UNREACHABLE: { text: "You seem to be offline. Try again: a trade is never made twice." },
  DATABASE_UNAVAILABLE: { text: "The service is not available at the moment. Nothing was bought." },
};

/** Limits say their number themselves; everything unknown keeps the server's own sentence. */
export function wordsFor({ code, message, retryAfterSec }: Refused): Words {
  if (code === "RATE_LIMITED")
    return {
      text: `Too many requests. You can go on in ${retryAfterSec} ${retryAfterSec === 1 ? "second" : "seconds"}.`,
    };
  return WORDS[code] ?? { text: `${message}.`.replace(/\.\.$/, ".") };
}
