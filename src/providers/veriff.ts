import {
  APPROVED_OR_DECLINED,
  type InboundProvider,
  type KycFinding,
  resultOf,
  signedByHmac,
  statusOf,
  textAt,
} from "./provider.ts";

/**
 * Veriff signs under the shared secret.
 * @see https://devdocs.veriff.com/docs/webhooks-guide
 */
export function veriff(secrets: readonly string[]): InboundProvider {
  return signedByHmac("x-hmac-signature", secrets, readVeriff);
}

/**
 * The decision webhook, or that of the fully automatic plan. The event webhook, which tells that a session was started
 * or submitted, decides nothing.
 * @see https://devdocs.veriff.com/docs/decision-webhook
 */
export function readVeriff(body: Record<string, unknown>): KycFinding {
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
