import type { Operation } from "../../contract/operation.ts";
import { refusalsOf } from "../../contract/refusals.ts";
import { Fault, type FaultCode } from "../../domain/fault.ts";
import { MAX_PRICE, MIN_PRICE } from "../../domain/market/market.ts";
import type { JsonObject } from "./openapi-parts.ts";

/** What each code means, for people. */
const MEANING: Partial<Record<FaultCode, string>> = {
  RATE_LIMITED: "the client's window is used up",
  SIGNATURE_INVALID: "the signature, its time or the tenant is not right",
  KEY_INVALID: "the key is missing, unknown, expired or not used from its networks",
  FORBIDDEN: "this needs an admin key",
  SCOPE_REQUIRED: "the admin key lacks a scope; the text names it",
  USER_REQUIRED: "no valid user token",
  ORIGIN_FORBIDDEN: "the page may not act with the session cookie",
  BAD_REQUEST: "something in the request is not valid; the text names it",
  NOT_FOUND: "there is nothing under this path or identifier",
  IDEMPOTENCY_MISMATCH: "the key was used with another request",
  PRECONDITION_FAILED: "it was changed since it was read",
  MARKET_NOT_FOUND: "no such market",
  MARKET_SETTLED: "the market is settled",
  MARKET_CLOSED: "the market's closing time has passed",
  MARKET_SUSPENDED: "the market is suspended",
  KYC_REQUIRED: "identity verification has not been passed",
  ACCOUNT_RESTRICTED: "the account is restricted",
  JURISDICTION_BLOCKED: "not allowed from this jurisdiction",
  SUITABILITY_REQUIRED: "the assessment is missing or was not passed",
  MAX_TRADE_EXCEEDED: "over the limit per trade",
  EXPOSURE_EXCEEDED: "over the exposure cap",
  INSUFFICIENT_FUNDS: "the wallet does not hold the amount",
  TREASURY_INSUFFICIENT: "the treasury cannot fund it",
  AMOUNT_TOO_SMALL: "the amount buys nothing",
  PRICE_BOUND: `the price would leave ${MIN_PRICE} to ${MAX_PRICE}`,
  COST_EXCEEDS_PAYOUT: "with the fee it costs more than its shares can pay",
  INSUFFICIENT_SHARES: "the user holds fewer shares; a sale is asked for them where a purchase is asked for funds",
  SLIPPAGE: "the price is worse than the limit that was named",
  REFUSED: "what it was made on has changed since; nothing was done",
  EXPECTATION_NOT_MET: "it would pay otherwise than was expected; nothing was done",
  WITHDRAWAL_DECIDED: "the withdrawal is approved or rejected already",
  KEY_EXISTS: "a key of this name is in force",
  KEY_IN_USE: "the request itself uses this key",
  OVERLOADED: "too much at once; nothing was done",
  DATABASE_UNAVAILABLE: "the database is away; nothing was done",
  OUTCOME_UNKNOWN: "it may or may not be done: repeat with the same Idempotency-Key",
  INTERNAL: "our failure",
};

const statusOf = (code: FaultCode): number => new Fault(code, "").status;
const sentenceOf = (code: FaultCode): string => `\`${code}\`${MEANING[code] ? ` (${MEANING[code]})` : ""}`;

/** "Refused, in this order: …", for the description of an operation. */
export function orderOfRefusals(id: string, operation: Operation): string {
  const codes = refusalsOf(id, operation).map((code) => `\`${code}\` ${statusOf(code)}`);
  return `Of several reasons to refuse the first is told: ${codes.join(", ")}.`;
}

/** The refusals of one operation by status, each with the codes that it can carry. */
export function refusalResponses(
  id: string,
  operation: Operation,
  headers: (status: number) => JsonObject,
): JsonObject {
  const byStatus = new Map<number, FaultCode[]>();
  for (const code of refusalsOf(id, operation))
    byStatus.set(statusOf(code), [...(byStatus.get(statusOf(code)) ?? []), code]);
  const entries = [...byStatus].map(([status, codes]): [number, JsonObject] => {
    const schema = { type: "string", enum: codes };
    return [
      status,
      {
        description: `${codes.map(sentenceOf).join("; ")}.`,
        headers: { "Error-Code": { description: "For programs.", schema }, ...headers(status) },
        content: {
          "application/json": {
            schema: { $ref: "#/components/schemas/Error" },
            example: { error: MEANING[codes[0] as FaultCode] ?? "Refused" },
          },
        },
      },
    ];
  });
  return Object.fromEntries(entries.sort(([a], [b]) => a - b));
}
