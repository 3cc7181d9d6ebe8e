import type { Waiting } from "../../client/inbox/item.ts";
import { item } from "../../client/inbox/waiting.ts";
import { canonicalJson } from "../../domain/audit/audit-link.ts";
import type { PlanItem } from "../../plan/plan-types.ts";

/** Managed values that were changed live since the last apply. */
export function waitingDrift(tenant: string, items: readonly PlanItem[]): Waiting[] {
  const drifted = items.filter(({ kind }) => kind === "drift" || kind === "conflict");
  return drifted.map(({ field, kind, live, desired, by }) => {
    const who = `${by ? `, by ${by.actor}` : ""}${kind === "conflict" ? "; both were changed" : ""}`;
    const title = `${field} is ${canonicalJson(live)} live and ${canonicalJson(desired)} in the file${who}`;
    const commands = [`drift ${tenant}`, `drift ${tenant} --write`, `plan ${tenant} --on-drift overwrite`];
    return item("drift", "warn", [field, title], {
      since: by?.ts ?? null,
      commands: commands.map((words) => `pmctl ${words}`),
    });
  });
}
