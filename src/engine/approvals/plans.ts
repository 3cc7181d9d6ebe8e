import { Fault } from "../../domain/fault.ts";
import { rulesOf } from "../../domain/policy/approvals.ts";
import { type CommandKind, need, requireTenant, TENANT } from "../command.ts";
import type { Draft } from "../draft.ts";
import type { Tenant } from "../rows.ts";
import type { PlanApproval } from "./rows.ts";

/** Who applies, and the SHA-256 of what is applied, by which others approve it. */
export interface AppliedBy {
  by?: string | undefined;
  inputSha256?: string | undefined;
}

/** The rules in force count, and not those that the apply would set. The first apply needs no other actor. */
export function requirePlanApproved(draft: Draft, { by, inputSha256 }: AppliedBy, before: Tenant | undefined): void {
  const limit = before ? (rulesOf(before).approvals.apply?.approvals ?? 1) : 1;
  if (by === undefined || inputSha256 === undefined) return;
  const actors = new Set([by, ...(draft.get("planApprovals", inputSha256) ?? []).map(({ actor }) => actor)]);
  if (actors.size >= limit) return;
  throw new Fault(
    "APPROVALS_MISSING",
    `An apply needs ${limit} actors, and ${actors.size} agree to this one; nothing was written. The others approve the file of \`pmctl plan --out\``,
    { detail: { limit, value: actors.size } },
  );
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
