import { Fault } from "../domain/fault.ts";
import { type CommandKind, need } from "./command.ts";
import type { Draft } from "./draft.ts";
import { type InboundWebhook, type Need, webhookKey } from "./rows.ts";

/** A provider's webhook as it arrived, without its outcome. */
export type ArrivedWebhook = Omit<InboundWebhook, "outcome" | "receivedAt" | "seal">;

/** The row that exists once the webhook has been handled. */
export function needsOfWebhook(webhook: ArrivedWebhook | undefined): Need[] {
  return webhook ? [need("inboundDelivery", webhookKey(webhook.provider, webhook.sha256))] : [];
}

/** Keeps a webhook that changes nothing else, the same bytes once. */
export const keepWebhook: CommandKind<{ webhook: ArrivedWebhook; outcome: "kept" | "no effect" }, undefined> = {
  needs: ({ webhook }) => needsOfWebhook(webhook),
  decide(draft, { webhook, outcome }, now) {
    once(draft, webhook, now, () => outcome);
  },
};

/**
 * Keeps the answer to a change that no command makes, such as sending an event again, so that its repeats get it. Before
 * the change is made there is nothing to keep, and the command only looks for an earlier answer.
 */
export const keepAnswer: CommandKind<{ isMade: boolean }, undefined> = {
  needs: () => [],
  decide(_draft, { isMade }) {
    if (!isMade) throw new Fault("NOT_FOUND", "Nothing was answered under this key yet");
  },
};

/**
 * Applies a webhook unless the same bytes were applied before, and keeps it with its outcome. Without a webhook (a
 * command of this process's own) there is nothing to keep.
 * @param apply returns the outcome; when it returns none, the types of the audit entries that it recorded are the
 * outcome
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
