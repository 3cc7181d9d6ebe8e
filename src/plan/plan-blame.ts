import { isSame } from "../domain/audit/audit-link.ts";
import { isOfType, type PolicyChanges } from "../domain/audit/audit-payloads.ts";
import type { PolicyField } from "../domain/policy/fields.ts";
import { policyValue } from "../domain/policy/values.ts";
import { isNaming, policyFieldOf } from "./plan-compare.ts";
import type { Blame, LiveConfig, Plan, PlanItem } from "./plan-types.ts";

/** An audit entry that changed the configuration. */
interface ChangeEntry {
  seq: number;
  type: string;
  actor: string;
  ts: string;
  payload: Record<string, unknown>;
}

/** Adds to every item that was changed live the newest entry that changed it. */
export function withBlame(plan: Plan, live: LiveConfig, entries: readonly ChangeEntry[]): Plan {
  const items = plan.items.map((item) => {
    const entry =
      item.kind === "change" || isNaming(item) ? undefined : entries.find((each) => touches(each, item, live));
    return entry ? { ...item, by: blameOf(entry) } : item;
  });
  return { ...plan, items };
}

function blameOf({ seq, ts, actor, payload }: ChangeEntry): Blame {
  return { seq, ts, actor, reason: typeof payload.reason === "string" ? payload.reason : null };
}

function touches(entry: ChangeEntry, item: PlanItem, live: LiveConfig): boolean {
  const field = policyFieldOf(item);
  // A plan compares policies without their overrides, so the entry of an override explains no difference.
  if (field) {
    if (!isOfType(entry, "policy.updated")) return false;
    const { until, changes } = entry.payload;
    return until === undefined && changed(changes, field);
  }
  if (item.field.startsWith("keys."))
    return isOfType(entry, "key.created", "key.revoked") && item.field === `keys.${entry.payload.name}`;
  const market = live.markets.find(({ key }) => item.field === `markets.${key}`);
  return isOfType(entry, "market.suspended", "market.resumed") && entry.payload.marketId === market?.id;
}

function changed(changes: PolicyChanges | undefined, field: PolicyField): boolean {
  const [name = field] = field.split(".");
  const change = changes?.[name];
  if (!change) return false;
  const [from, to] = [change.from, change.to].map((value) => policyValue({ [name]: value }, field) ?? null);
  return !isSame(from ?? null, to ?? null);
}
