import type { FaultCode } from "../../domain/fault.ts";
import { nextRequestId } from "../exchange.ts";
import { rawResponse } from "../responses.ts";

/** A refusal as text, for what never became a request. */
export function refusalText(status: number, message: string, code: FaultCode = "BAD_REQUEST"): string {
  return rawResponse(status, code, message, nextRequestId());
}

export function timedOutText(): string {
  return refusalText(408, "The request took too long");
}
