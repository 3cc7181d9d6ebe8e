import type { CommandKind } from "./command.ts";
import type { Draft } from "./draft.ts";
import { deliveryKey, type InboundDelivery, type Need } from "./rows.ts";

/** A provider's delivery as it arrived: what is kept of it beside its effect. */
export type Delivery = Omit<InboundDelivery, "outcome" | "receivedAt">;

/** An event that nothing follows from: it is only kept. */
export interface KeepDelivery {
  type: "keepDelivery";
  delivery: Delivery;
  outcome: "kept" | "no effect";
}

/** The row that tells whether the delivery was there before. */
export function needsOfDelivery(delivery: Delivery | undefined): Need[] {
  return delivery ? [{ table: "inboundDelivery", key: deliveryKey(delivery.provider, delivery.sha256) }] : [];
}

/** Keeps a delivery that nothing follows from, the same bytes once. */
export const keepDelivery: CommandKind<KeepDelivery, undefined> = {
  needs: ({ delivery }) => needsOfDelivery(delivery),
  decide(draft, { delivery, outcome }, now) {
    once(draft, delivery, now, () => outcome);
  },
};

/**
 * Takes a delivery into account unless the same bytes were before, and keeps it together with what came of it. Without
 * a delivery (a command of this process's own) there is nothing to keep.
 * @param take returns an outcome of its own, or leaves it to the audit entries that it records
 */
export function once(
  draft: Draft,
  delivery: Delivery | undefined,
  now: number,
  take: () => string | undefined,
): undefined {
  if (!delivery) {
    take();
    return;
  }
  const key = deliveryKey(delivery.provider, delivery.sha256);
  if (draft.get("inboundDelivery", key)) return;
  const outcome = take() ?? (draft.audit.map(({ type }) => type).join(", ") || "no effect");
  draft.put("inboundDelivery", key, { ...delivery, outcome, receivedAt: now });
}
