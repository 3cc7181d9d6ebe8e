import { Fault, type FaultCode } from "../../domain/fault.ts";
import { refusedRequest } from "../errors.ts";

/** The command that most likely helps, by refusal; none where the message has said it, or nothing would help. */
export const NEXT: Partial<Record<FaultCode, string>> = {
  MARKET_NOT_FOUND: "pmctl market list",
  MARKET_SUSPENDED: "pmctl market resume <id>",
  INSUFFICIENT_FUNDS: "pmctl funding credit --user <id> --amount <usd> --reason <text>",
  INSUFFICIENT_SHARES: "pmctl position list --user <id>",
  KYC_REQUIRED: "pmctl webhook send kyc.passed --set userId=<id>",
  SUITABILITY_REQUIRED: "pmctl suitability submit --user <id> --answers <json>",
  ACCOUNT_RESTRICTED: "pmctl user release <id>",
  JURISDICTION_BLOCKED: "pmctl policy show; pmctl webhook send kyc.passed --set userId=<id> --set jurisdiction=<code>",
  MAX_TRADE_EXCEEDED: "pmctl policy show",
  EXPOSURE_EXCEEDED: "pmctl position list --user <id>",
  TREASURY_INSUFFICIENT: "raise treasury.capitalUsd in the tenant file, then pmctl apply",
  KEY_INVALID: "pmctl key list --via db",
  SCOPE_REQUIRED: "pmctl key list; the same again with --key <name>, for a key of the file that has the scope",
  SIGNATURE_INVALID: "pmctl webhook verify --body <file> --signature <hex>",
  INTEGRITY: "pmctl reconcile --explain; pmctl audit verify",
};

/**
 * Where to look after an error, in lines for people: the request's id differs each time, and scripts compare what they
 * read.
 */
export function hintsFor(error: unknown): string {
  const request = refusedRequest(error);
  const next = error instanceof Fault ? NEXT[error.code] : undefined;
  return `${request === undefined ? "" : `Why: pmctl why ${request}\n`}${next === undefined ? "" : `Next: ${next}\n`}`;
}
