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
  /** When the refusal ends by itself. */
  until?: string;
}

type After<Group extends string, Key> = Key extends `${Group}${infer Name}` ? Name : never;
/** A key of the catalogue, without its group. */
type RefusalMessage = After<"refusal.", MessageKey>;

const MESSAGES: Readonly<Record<string, RefusalMessage>> = {
  MARKET_CLOSED: "closed",
  MARKET_SUSPENDED: "suspended",
  MARKET_SETTLED: "settled",
  MARKET_NOT_FOUND: "noMarket",
  KYC_REQUIRED: "identity",
  ACCOUNT_RESTRICTED: "restricted",
  JURISDICTION_UNKNOWN: "residence",
  JURISDICTION_BLOCKED: "jurisdiction",
  SUITABILITY_REQUIRED: "suitability",
  INSUFFICIENT_FUNDS: "funds",
  INSUFFICIENT_SHARES: "shares",
  PRICE_BOUND: "priceBound",
  COST_EXCEEDS_PAYOUT: "payout",
  AMOUNT_TOO_SMALL: "tooSmall",
  MAX_TRADE_EXCEEDED: "maxTrade",
  EXPOSURE_EXCEEDED: "exposure",
  SLIPPAGE: "moved",
  USER_REQUIRED: "user",
  KEY_INVALID: "key",
  RATE_LIMITED: "rate",
  OVERLOADED: "overloaded",
  OUTCOME_UNKNOWN: "unknown",
  UNREACHABLE: "unreachable",
  STANDBY_REQUIRED: "unavailable",
  DATABASE_UNAVAILABLE: "unavailable",
  TOKEN_KEYS_UNAVAILABLE: "unavailable",
  INTERNAL: "internal",
};

/** What helps after a refusal. */
const HELP: Readonly<Record<string, Offer>> = {
  KYC_REQUIRED: "verify",
  // The identity check supplies an unknown residence.
  JURISDICTION_UNKNOWN: "verify",
  SUITABILITY_REQUIRED: "suitability",
  INSUFFICIENT_FUNDS: "deposit",
  USER_REQUIRED: "signin",
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

/** The words for a refusal. A code without a message keeps the server's, and so does one whose limit is unknown. */
export function wordsFor({ code, message, retryAfterSec, until }: Refused): Words {
  const name = MESSAGES[code];
  const limit = LIMIT.exec(message)?.[1];
  const needsLimit = name === "maxTrade" || name === "exposure";
  return {
    text: message.replace(/\.?$/, "."),
    ...(name && (limit || !needsLimit) && { key: `refusal.${name}`, offer: HELP[code] }),
    ...(needsLimit && limit && { values: { limit } }),
    ...(retryAfterSec > 0 && { waitSec: retryAfterSec }),
    ...(until && { until }),
  };
}

/** The words for a read, which is repeated by itself because it changes nothing. */
export function wordsForReading(refused: Refused): Words {
  if (!isPassing(refused)) return wordsFor(refused);
  const isBusy = refused.code === "RATE_LIMITED" || refused.code === "OVERLOADED";
  return { key: isBusy ? "state.busy" : "state.unreachable" };
}

/** A refusal in the reader's language; `limit` among its values is an amount of dollars. */
export function sayWords({ say, dollars, exact }: Speaker, { text = "", key, values = {}, until }: Words): string {
  const { limit, ...rest } = values;
  const said = key ? say(key, limit === undefined ? rest : { ...rest, limit: dollars(Number(limit)) }) : text;
  return until ? `${said} ${say("refusal.until", { time: exact(until) })}` : said;
}
