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
 * Onfido signs under the webhook's token.
 * @see https://documentation.onfido.com/api/latest/#webhooks
 */
export function onfido(secrets: readonly string[]): InboundProvider {
  return signedByHmac("x-sha2-signature", secrets, readOnfido);
}

/**
 * A workflow run of Studio that has ended: its event carries the run itself, with the user that it was started for. The
 * event of a check carries neither a verdict nor a user, so checks are to be part of a workflow.
 */
export function readOnfido(body: Record<string, unknown>): KycFinding {
  const action = textAt(body, "payload", "action");
  if (action !== "workflow_run.completed") return { news: action ?? "unknown", provider: "onfido" };
  const status = textAt(body, "payload", "resource", "status") ?? textAt(body, "payload", "object", "status");
  return resultOf({
    userId: textAt(body, "payload", "resource", "customer_user_id"),
    status: statusOf(status, APPROVED_OR_DECLINED),
    provider: "onfido",
    verifiedAt:
      textAt(body, "payload", "object", "completed_at_iso8601") ?? textAt(body, "payload", "resource", "updated_at"),
    // The outputs of a workflow are its author's own.
    jurisdiction: textAt(body, "payload", "resource", "output", "jurisdiction"),
  });
}
