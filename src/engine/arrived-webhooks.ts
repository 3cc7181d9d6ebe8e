import type { CommandKind } from "./command.ts";
import type { Draft } from "./draft.ts";
import { type InboundWebhook, type Need, webhookKey } from "./rows.ts";

/** A provider's webhook as it arrived: what is kept of it beside its effect. */
export type ArrivedWebhook = Omit<InboundWebhook, "outcome" | "receivedAt">;

/** An event that nothing follows from: it is only kept. */
export interface KeepWebhook {
  type: "keepWebhook";
  webhook: ArrivedWebhook;
  outcome: "kept" | "no effect";
}

/** The row that tells whether the webhook was there before. */
export function needsOfWebhook(webhook: ArrivedWebhook | undefined): Need[] {
  return webhook ? [{ table: "inboundDelivery", key: webhookKey(webhook.provider, webhook.sha256) }] : [];
}

/** Keeps a webhook that nothing follows from, the same bytes once. */
export const keepWebhook: CommandKind<KeepWebhook, undefined> = {
  needs: ({ webhook }) => needsOfWebhook(webhook),
  decide(draft, { webhook, outcome }, now) {
    once(draft, webhook, now, () => outcome);
  },
};

/**
 * Takes a webhook into account unless the same bytes were before, and keeps it together with what came of it. Without
 * a webhook (a command of this process's own) there is nothing to keep.
 * @param take returns an outcome of its own, or leaves it to the audit entries that it records
 */
export function once(
  draft: Draft,
  webhook: ArrivedWebhook | undefined,
  now: number,
  take: () => string | undefined,
): undefined {
  if (!webhook) {
    take();
    return;
  }
  const key = webhookKey(webhook.provider, webhook.sha256);
  if (draft.get("inboundDelivery", key)) return;
  const outcome = take() ?? (draft.audit.map(({ type }) => type).join(", ") || "no effect");
  draft.put("inboundDelivery", key, { ...webhook, outcome, receivedAt: now });
}
