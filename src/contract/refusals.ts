import type { FaultCode } from "../domain/fault.ts";
import type { Operation } from "./operation.ts";
import type { OperationId } from "./operations.ts";

/** The market's state goes before the user's, and that before limits and funds (decision 1). */
const MARKET_STATE = ["MARKET_NOT_FOUND", "MARKET_SETTLED", "MARKET_CLOSED", "MARKET_SUSPENDED"] as const;
const STANDING = ["KYC_REQUIRED", "ACCOUNT_RESTRICTED", "JURISDICTION_BLOCKED", "SUITABILITY_REQUIRED"] as const;
const LIMITS = ["MAX_TRADE_EXCEEDED", "EXPOSURE_EXCEEDED"] as const;
const FUNDS = ["INSUFFICIENT_FUNDS", "AMOUNT_TOO_SMALL", "PRICE_BOUND", "COST_EXCEEDS_PAYOUT"] as const;
const TRADE: readonly FaultCode[] = [...MARKET_STATE, ...STANDING, ...LIMITS, ...FUNDS];

/** A sale asks for the shares, and either direction may name the price that it accepts. */
const ORDER: readonly FaultCode[] = [...TRADE, "INSUFFICIENT_SHARES", "SLIPPAGE"];

/** What only some operations refuse, in the order in which they look. */
const OWN: Readonly<Record<string, readonly FaultCode[]>> = {
  getMarket: ["MARKET_NOT_FOUND"],
  getMarketHistory: ["MARKET_NOT_FOUND"],
  getMarketDepth: ["MARKET_NOT_FOUND"],
  createMarket: ["TREASURY_INSUFFICIENT"],
  suspendMarket: ["MARKET_NOT_FOUND", "MARKET_SETTLED", "MARKET_CLOSED"],
  resumeMarket: ["MARKET_NOT_FOUND", "MARKET_SETTLED", "MARKET_CLOSED"],
  previewSettlement: ["MARKET_NOT_FOUND", "MARKET_SETTLED"],
  settleMarket: ["MARKET_NOT_FOUND", "MARKET_SETTLED", "EXPECTATION_NOT_MET"],
  placeTrade: ORDER,
  placeOrder: ORDER,
  quoteTrade: ORDER,
  requestWithdrawal: ["INSUFFICIENT_FUNDS"],
  approveWithdrawal: ["WITHDRAWAL_DECIDED"],
  rejectWithdrawal: ["WITHDRAWAL_DECIDED"],
  createKey: ["KEY_EXISTS"],
  revokeKey: ["KEY_IN_USE"],
  updatePolicy: ["PRECONDITION_FAILED"],
  applyConfig: [
    "KEY_IN_USE",
    "CONFIG_INVALID",
    "REFUSED",
    "TREASURY_INSUFFICIENT",
    "MARKET_NOT_FOUND",
    "MARKET_SETTLED",
    "MARKET_CLOSED",
  ],
} satisfies { [Id in OperationId]?: readonly FaultCode[] };

/** The codes that an operation refuses with, in order of precedence: of several reasons the first is told. */
export function refusalsOf(id: string, operation: Operation): FaultCode[] {
  const { auth, method, writes, optionalUser } = operation;
  const onBehalf = "onBehalf" in operation ? operation.onBehalf : undefined;
  const isChange = method !== "GET" || auth === "signature";
  const codes: (FaultCode | false)[] = [
    "RATE_LIMITED",
    auth === "signature" && "SIGNATURE_INVALID",
    auth !== "none" && auth !== "signature" && "KEY_INVALID",
    auth === "admin" && "FORBIDDEN",
    (auth === "admin" || onBehalf !== undefined) && "SCOPE_REQUIRED",
    (auth === "user" || optionalUser === true) && "USER_REQUIRED",
    (auth === "user" || optionalUser === true) && isChange && "ORIGIN_FORBIDDEN",
    "BAD_REQUEST",
    auth !== "none" && "NOT_FOUND",
    writes === true && "IDEMPOTENCY_MISMATCH",
    ...(OWN[id] ?? []),
    (isChange || id === "streamEvents") && "OVERLOADED",
    "DATABASE_UNAVAILABLE",
    isChange && "OUTCOME_UNKNOWN",
    "INTERNAL",
  ];
  return codes.filter((code) => code !== false);
}
