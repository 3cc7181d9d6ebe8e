import type { WireResult } from "../../contract/operations.ts";
import { credentialFaultSentence, isCredentialFault } from "../../domain/access/credential-faults.ts";
import { type FaultCode, isFaultCode } from "../../domain/fault.ts";
import { LIMIT_FIELDS } from "../../domain/policy/fields.ts";
import type { Origin } from "./origin.ts";

type Refusal = WireResult<"getRefusal">;
type Detail = Refusal["detail"];

/** The rule and its numbers in one sentence, where the error's own message does not say them. */
const SENTENCES: Partial<Record<FaultCode, (detail: Detail) => string>> = {
  MAX_TRADE_EXCEEDED: ({ value, limit }) => `amount ${value} USD is over maxTradeUsd ${limit}`,
  EXPOSURE_EXCEEDED: ({ value, limit, field }) =>
    `the user's open positions would have cost ${value} USD, over ${lastName(field)} ${limit}`,
  INSUFFICIENT_FUNDS: ({ value, limit }) => `${value} USD were asked for, and the account held ${limit}`,
  INSUFFICIENT_SHARES: ({ value, limit }) => `${value} shares were to be sold, and the user held ${limit}`,
  TREASURY_INSUFFICIENT: ({ value, limit }) => `the market takes ${value} USD, and the treasury held ${limit}`,
  AMOUNT_TOO_SMALL: ({ value, limit }) =>
    value === undefined
      ? "the amount buys less than a millionth of a share"
      : `the fee on ${value} USD is ${limit} USD`,
  PRICE_BOUND: ({ value, limit }) => `the price of YES would have become ${value}; prices stay within ${limit}`,
  COST_EXCEEDS_PAYOUT: ({ value, limit }) =>
    `the shares for ${value} USD, fee included, could pay ${limit} USD at most`,
  SLIPPAGE: ({ value, limit, field }) => `the caller asked for a ${field} of ${limit}, and it would have been ${value}`,
  KYC_REQUIRED: ({ value }) => `the user's identity check stood at "${value}", and kyc.required asks for a passed one`,
  SUITABILITY_REQUIRED: ({ value, limit, field }) =>
    field === "policy.suitabilityRequired"
      ? "the user has submitted no assessment, and suitabilityRequired asks for one"
      : `the user's score ${value} is below ${limit}, where trading is blocked`,
  JURISDICTION_UNKNOWN: ({ value }) =>
    value === "unknown"
      ? "the user's jurisdiction is not on record, and the policy lists jurisdictions: the KYC event's `jurisdiction`, or the claim of the user's token, names it"
      : `the policy lists jurisdictions, and ${value}, which the KYC event or the claim of the user's token named, is not a code of ISO 3166`,
  JURISDICTION_BLOCKED: ({ value, field }) =>
    `jurisdiction ${value} is ${field === "policy.jurisdictions.blocked" ? "on the blocked list" : "not on the allowed list"}`,
  USER_REQUIRED: ({ fault }) =>
    isCredentialFault(fault) ? credentialFaultSentence(fault) : "the request named no user",
  TOKEN_KEYS_UNAVAILABLE: ({ problem }) => `the key set in auth.jwt.jwks of the tenant file cannot be read: ${problem}`,
  MARKET_CLOSED: ({ closeAt }) => `the market closed at ${closeAt}`,
  MARKET_SUSPENDED: () => "the market was suspended by an operator: pmctl audit list --type market.suspended says who",
};

export function refusalSentence({ code, detail, error }: Pick<Refusal, "code" | "detail" | "error">): string {
  const sentence = isFaultCode(code) && Object.keys(detail).length > 0 ? SENTENCES[code] : undefined;
  return sentence?.(detail) ?? error;
}

/** Fields whose own value is the limit; other limits are computed, or are balances. */
const STATED_LIMITS = [...LIMIT_FIELDS.map((field) => `policy.${field}`), "policy.suitabilityThresholds.blockBelow"];

/** The field's value when it refused; undefined when that is unknown. */
export function limitInForce({ detail: { field, limit } }: Pick<Refusal, "detail">): unknown {
  return STATED_LIMITS.includes(String(field)) ? limit : undefined;
}

/** Where the rule is stated, and who set it, in one sentence. */
export function originSentence({ field, place, fileValue, setBy, liveValue }: Origin, inForce?: unknown): string {
  const parts = [
    place === null ? `${field} is not in the tenant file` : `${place}`,
    place !== null && inForce !== undefined && !same(fileValue, inForce) ? `which says ${text(fileValue)} now` : "",
    setBy === null ? "" : setSentence(setBy, place, fileValue, inForce),
    inForce !== undefined && liveValue !== null && !same(liveValue, inForce)
      ? `since changed to ${text(liveValue)}`
      : "",
  ];
  return parts.filter((part) => part !== "").join(", ");
}

function setSentence(
  { seq, type, actor, ts, reason }: NonNullable<Origin["setBy"]>,
  place: string | null,
  fileValue: unknown,
  inForce: unknown,
): string {
  const isFile = type === "config.applied" && place !== null && (inForce === undefined || same(fileValue, inForce));
  const why = reason === null ? "" : `: "${reason}"`;
  return `${isFile ? "applied" : type === "config.applied" ? "as applied" : "set live"} by ${actor}, entry ${seq} of ${ts}${why}`;
}

/** Compares numbers that may be decimal texts too. */
function same(a: unknown, b: unknown): boolean {
  return text(a) === text(b);
}

function text(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function lastName(field: Detail[string] | undefined): string {
  return String(field ?? "the cap").replace(/^policy\./, "");
}
