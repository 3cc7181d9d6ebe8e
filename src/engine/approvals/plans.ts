import { Fault } from "../../domain/fault.ts";
import { loosensRules, NO_RULES, ruleChanges, rulesIn, rulesOf } from "../../domain/policy/approvals.ts";
import type { PolicyPatch } from "../../domain/policy/policy.ts";
import { loosensPolicy } from "../../domain/policy/values.ts";
import { type CommandKind, need, requireTenant, TENANT } from "../command.ts";
import type { Draft } from "../draft.ts";
import type { Tenant } from "../rows.ts";
import type { PlanApproval } from "./rows.ts";

/** Who applies, and the SHA-256 of what is applied, by which others approve it. */
export interface AppliedBy {
  by?: string | undefined;
  inputSha256?: string | undefined;
}

/** What an apply would set. */
interface Applied extends AppliedBy {
  policy: PolicyPatch;
  kycRequired: boolean;
  document: string;
  rollbackTo?: number | undefined;
}

/**
 * An apply needs as many actors as the same change would need alone: to loosen, to give a key, and to apply at all. The
 * rules in force count, and not those that the apply would set. The first apply needs no other actor.
 * @throws Fault APPROVALS_MISSING
 */
export function requirePlanApproved(
  draft: Draft,
  applied: Applied,
  { before, givesKeys }: { before: Tenant | undefined; givesKeys: boolean },
): void {
  const { by, inputSha256, rollbackTo } = applied;
  if (by === undefined || inputSha256 === undefined || !before) return;
  const { apply, key, loosen } = rulesOf(before).approvals;
  const limit = Math.max(
    apply?.approvals ?? 1,
    givesKeys && key ? key.approvals : 1,
    loosen && loosens(before, applied) ? loosen.approvals : 1,
  );
  const actors = new Set([by, ...(draft.get("planApprovals", inputSha256) ?? []).map(({ actor }) => actor)]);
  if (actors.size >= limit) return;
  const way =
    rollbackTo === undefined ? "approve the file of `pmctl plan --out`" : "agree with `pmctl rollback --approve`";
  throw new Fault(
    "APPROVALS_MISSING",
    `An apply needs ${limit} actors, and ${actors.size} agree to this one; nothing was written. The others ${way}`,
    { detail: { limit, value: actors.size } },
  );
}

function loosens(before: Tenant, { policy, kycRequired, document }: Applied): boolean {
  return (
    loosensPolicy(before.policy, policy) ||
    (before.kycRequired && !kycRequired) ||
    loosensRules(rulesOf(before), rulesIn(JSON.parse(document)))
  );
}

/** The rules that an apply changed, as its entry names them; undefined for none. */
export function changedRules(before: Tenant | undefined, after: Tenant) {
  const rules = ruleChanges(before ? rulesOf(before) : NO_RULES, rulesOf(after));
  return Object.keys(rules).length === 0 ? undefined : rules;
}

/**
 * An actor agrees to what an apply would do.
 * @throws Fault ALREADY_APPROVED
 */
export const approvePlan: CommandKind<{ sha256: string; by: string }, readonly PlanApproval[]> = {
  needs: ({ sha256 }) => [TENANT, need("planApprovals", sha256)],
  ownBatch: true,
  decide(draft, { sha256, by }, now) {
    requireTenant(draft);
    const approvals = draft.get("planApprovals", sha256) ?? [];
    if (approvals.some(({ actor }) => actor === by))
      throw new Fault("ALREADY_APPROVED", "You have approved this plan; another actor must", { detail: { value: by } });
    const approval = { sha256, actor: by, at: now };
    draft.put("planApproval", `${sha256}\n${by}`, approval);
    draft.put("planApprovals", sha256, [...approvals, approval]);
    draft.record("plan.approved", { sha256 });
    return [...approvals, approval];
  },
};
