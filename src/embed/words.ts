import type { FrameData } from "../contract/resources/embed.ts";
import type { MessageKey } from "../locales/messages.ts";
import type { Speaker, Values } from "../locales/speaker.ts";
import { isPassing, type Refused } from "./api.ts";
import type { ActionName } from "./protocol.ts";

/** An action that the widget offers and the page around carries out: the name of its event. */
export type Offer = ActionName;

/** A refusal explained to a trader, and what the page can offer to do about it. */
export interface Words {
  /** The server's own words, for a refusal that has no message. */
  text?: string;
  key?: MessageKey;
  values?: Values;
  offer?: Offer | undefined;
  /** The page that the value `name` leads to. */
  href?: string;
  /** Seconds until it makes sense to try again. */
  waitSec?: number;
}

export const OFFERS: Record<Offer, MessageKey> = {
  signin: "offer.signin",
  verify: "offer.verify",
  deposit: "offer.deposit",
  suitability: "offer.suitability",
};

const UNAVAILABLE: Words = { key: "refusal.unavailable" };

const WORDS: Record<string, Words> = {
  MARKET_CLOSED: { key: "refusal.closed" },
  MARKET_SUSPENDED: { key: "refusal.suspended" },
  MARKET_SETTLED: { key: "refusal.settled" },
  MARKET_NOT_FOUND: { key: "refusal.noMarket" },
  KYC_REQUIRED: { key: "refusal.identity", offer: "verify" },
  ACCOUNT_RESTRICTED: { key: "refusal.restricted" },
  // The identity check supplies an unknown residence.
  JURISDICTION_UNKNOWN: { key: "refusal.residence", offer: "verify" },
  JURISDICTION_BLOCKED: { key: "refusal.jurisdiction" },
  SUITABILITY_REQUIRED: { key: "refusal.suitability", offer: "suitability" },
  INSUFFICIENT_FUNDS: { key: "refusal.funds", offer: "deposit" },
  INSUFFICIENT_SHARES: { key: "refusal.shares" },
  PRICE_BOUND: { key: "refusal.priceBound" },
  COST_EXCEEDS_PAYOUT: { key: "refusal.payout" },
  AMOUNT_TOO_SMALL: { key: "refusal.tooSmall" },
  MAX_TRADE_EXCEEDED: { key: "refusal.maxTrade" },
  EXPOSURE_EXCEEDED: { key: "refusal.exposure" },
  SLIPPAGE: { key: "refusal.moved" },
  USER_REQUIRED: { key: "refusal.user", offer: "signin" },
  KEY_INVALID: { key: "refusal.key" },
  RATE_LIMITED: { key: "refusal.rate" },
  OVERLOADED: { key: "refusal.overloaded" },
  OUTCOME_UNKNOWN: { key: "refusal.unknown" },
  UNREACHABLE: { key: "refusal.unreachable" },
  STANDBY_REQUIRED: UNAVAILABLE,
  DATABASE_UNAVAILABLE: UNAVAILABLE,
  TOKEN_KEYS_UNAVAILABLE: UNAVAILABLE,
  INTERNAL: { key: "refusal.internal" },
};

/** The limit within the server's message: words in the reader's language need the number. */
const LIMIT = /(\d+(?:\.\d+)?) USD/;

/** After these a trade may have executed: only the same trade may follow, under the same key. */
const UNSURE: readonly string[] = ["OUTCOME_UNKNOWN", "UNREACHABLE", "INTERNAL", "DATABASE_UNAVAILABLE"];

/** Refused before the server read the trade: these say nothing about an earlier attempt at it. */
const AT_THE_DOOR: readonly string[] = [
  "RATE_LIMITED",
  "OVERLOADED",
  "USER_REQUIRED",
  "KEY_INVALID",
  "TOKEN_KEYS_UNAVAILABLE",
  "STANDBY_REQUIRED",
];

/** Refusals of the user: they hold for every order until something about the user changes. */
const OF_THE_USER: readonly string[] = [
  "KYC_REQUIRED",
  "ACCOUNT_RESTRICTED",
  "JURISDICTION_UNKNOWN",
  "JURISDICTION_BLOCKED",
  "SUITABILITY_REQUIRED",
];

/** The site where a reader can do what this page does not allow. */
export function wordsOfElsewhere({ name, tradeAt }: FrameData, key: "ticket.lookOnly" | "portfolio.elsewhere"): Words {
  return tradeAt === null ? { key: "ticket.lookHere" } : { key, values: { name }, href: tradeAt };
}

export const mayHaveHappened = ({ code }: Refused): boolean => UNSURE.includes(code);
export const saysNothing = ({ code }: Refused): boolean => AT_THE_DOOR.includes(code);
export const isOfTheUser = ({ code }: Pick<Refused, "code">): boolean => OF_THE_USER.includes(code);

/** The words for a refusal. A code without a message keeps the server's. */
export function wordsFor({ code, message, retryAfterSec }: Refused): Words {
  const text = `${message}.`.replace(/\.\.$/, ".");
  const limit = LIMIT.exec(message)?.[1];
  const known = WORDS[code] ?? {};
  const words = known.key === "refusal.maxTrade" || known.key === "refusal.exposure" ? limited(known, limit) : known;
  return { text, ...words, ...(retryAfterSec > 0 ? { waitSec: retryAfterSec } : {}) };
}

/** The words for a read, which is repeated by itself because it changes nothing. */
export function wordsForReading(refused: Refused): Words {
  if (!isPassing(refused)) return wordsFor(refused);
  const isBusy = refused.code === "RATE_LIMITED" || refused.code === "OVERLOADED";
  return { key: isBusy ? "state.busy" : "state.unreachable" };
}

function limited(words: Words, limit: string | undefined): Words {
  return limit === undefined ? {} : { ...words, values: { limit } };
}

/** A refusal in the reader's language; `limit` among its values is an amount of dollars. */
export function sayWords({ say, dollars }: Speaker, { text = "", key, values = {} }: Words): string {
  if (key === undefined) return text;
  const { limit, ...rest } = values;
  return say(key, limit === undefined ? rest : { ...rest, limit: dollars(Number(limit)) });
}
