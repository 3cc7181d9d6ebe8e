import { type CommandKind, need } from "../command.ts";
import type { Draft } from "../draft.ts";
import { type InboundWebhook, type Need, webhookKey } from "../rows.ts";

/** A provider's webhook as it arrived, before its outcome is known. */
export type ArrivedWebhook = Omit<InboundWebhook, "outcome" | "receivedAt" | "seal">;

/** The row that exists once the webhook has been handled. */
export function needsOfWebhook(webhook: ArrivedWebhook | undefined): Need[] {
  return webhook ? [need("inboundDelivery", webhookKey(webhook.provider, webhook.sha256))] : [];
}

/** Stores a webhook that changes nothing else, once for the same bytes. */
export const keepWebhook: CommandKind<{ webhook: ArrivedWebhook; outcome: "kept" | "no effect" }, undefined> = {
  needs: ({ webhook }) => needsOfWebhook(webhook),
  decide(draft, { webhook, outcome }, now) {
    once(draft, webhook, now, () => outcome);
  },
};

/**
 * Applies a webhook unless the same bytes were applied before, and stores it with its outcome. Without a webhook (a
 * command of this process itself) nothing is stored.
 * @param apply returns the outcome; if it returns none, the outcome is the types of the audit entries that it recorded
 */
export function once(
  draft: Draft,
  webhook: ArrivedWebhook | undefined,
  now: number,
  apply: () => string | undefined,
): undefined {
  const key = webhook && webhookKey(webhook.provider, webhook.sha256);
  if (key !== undefined && draft.get("inboundDelivery", key)) return;
  const outcome = apply() ?? (draft.audit.map(({ type }) => type).join(", ") || "no effect");
  if (webhook && key !== undefined) draft.put("inboundDelivery", key, { ...webhook, outcome, receivedAt: now });
}
