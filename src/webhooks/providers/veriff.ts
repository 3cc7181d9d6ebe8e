import { isHmac } from "../signature.ts";
import {
  APPROVED_OR_DECLINED,
  type InboundProvider,
  type KycNews,
  type KycResult,
  resultOf,
  statusOf,
  textAt,
} from "./provider.ts";

/**
 * Veriff: an HMAC-SHA256 of the body under the shared secret, in hex. No time is signed.
 * @see https://devdocs.veriff.com/docs/webhooks-guide
 */
export function veriff(secrets: readonly string[]): InboundProvider {
  return {
    header: "x-hmac-signature",
    verify: (rawBody, header) => isHmac(rawBody, header("x-hmac-signature"), secrets),
    read: readVeriff,
  };
}

/**
 * The decision webhook, or that of the fully automatic plan. The event webhook, which tells that a session was started
 * or submitted, decides nothing.
 * @see https://devdocs.veriff.com/docs/decision-webhook
 */
export function readVeriff(body: Record<string, unknown>): KycResult | KycNews {
  const status = textAt(body, "verification", "status") ?? textAt(body, "data", "verification", "decision");
  if (status === undefined) return { news: textAt(body, "action") ?? "unknown", provider: "veriff" };
  return resultOf({
    userId: textAt(body, "verification", "vendorData") ?? textAt(body, "vendorData"),
    status: statusOf(status, APPROVED_OR_DECLINED),
    provider: "veriff",
    verifiedAt:
      textAt(body, "verification", "decisionTime") ??
      textAt(body, "time") ??
      textAt(body, "verification", "acceptanceTime") ??
      textAt(body, "acceptanceTime"),
  });
}
