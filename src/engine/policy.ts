import { isDeepStrictEqual } from "node:util";
import { ENDS_KYC, requireScopes, type Scope } from "../domain/access/scopes.ts";
import { isSame } from "../domain/audit/audit-link.ts";
import type { PolicyChanges } from "../domain/audit/audit-shapes.ts";
import { Fault } from "../domain/fault.ts";
import { mergePolicy, type Override, type Policy, type PolicyPatch, policyAt } from "../domain/policy/policy.ts";
import { tierProblems } from "../domain/policy/suitability.ts";
import { loosensPolicy, statedFields } from "../domain/policy/values.ts";
import { governed } from "./approvals/proposals.ts";
import { type CommandKind, requireTenant, TENANT_TO_WRITE } from "./command.ts";
import { statedTenant, tenantOnRecord, tenantStrays } from "./on-record.ts";
import { SINGLE, type Tenant } from "./rows.ts";

interface UpdatePolicy {
  patch: PolicyPatch;
  /** How long the change lasts; permanently by default. */
  ttlMs?: number | undefined;
  /** The versions of the tenant's row that the caller has seen; the command is refused at any other version. */
  ifVersion?: readonly number[] | undefined;
  /** The scopes of the request's key; undefined for a request without a key. */
  heldScopes?: readonly Scope[] | undefined;
}

/**
 * Changes the given fields permanently or, with a `ttlMs`, temporarily. A permanent change ends the overrides of its
 * fields. A patch without a change is recorded only if the row differs from the log: then the entry records the
 * correction.
 * @throws Fault SCOPE_REQUIRED for ending the review of identity checks, if the request's key may not decide about users
 */
const updateNow: CommandKind<UpdatePolicy, { policy: Policy; updatedAt: number; version: number }> = {
  needs: () => [...TENANT_TO_WRITE],
  ownBatch: true,
  decide(draft, command, now) {
    const { patch, ifVersion, ttlMs } = command;
    const tenant = tenantOnRecord(draft) ?? requireTenant(draft);
    const { version } = tenant;
    if (ifVersion && !ifVersion.includes(version))
      throw new Fault("PRECONDITION_FAILED", "The policy was changed since it was read");
    const before = policyAt(tenant, now);
    if (patch.kycReview === false && (before.kycReview || tenant.policy.kycReview))
      requireScopes(command.heldScopes, [ENDS_KYC.scope], ENDS_KYC.purpose);
    const stated = statedFields(patch, mergePolicy(before, patch));
    const others = tenant.overrides.filter(({ field }) => !stated.some(([name]) => name === field));
    const until = ttlMs === undefined ? undefined : now + ttlMs;
    const next: Pick<Tenant, "policy" | "overrides"> =
      until === undefined
        ? { policy: mergePolicy(tenant.policy, patch), overrides: others }
        : {
            policy: tenant.policy,
            overrides: [...others, ...stated.map(([field, value]) => ({ field, value, until }))],
          };
    requireSound(next.policy);
    const policy = policyAt(next, now);
    requireSound(policy);
    if (
      !tenantStrays(draft) &&
      isSame(next.policy, tenant.policy) &&
      isDeepStrictEqual(next.overrides, tenant.overrides)
    )
      return { policy, updatedAt: tenant.policyUpdatedAt, version };
    draft.put("tenant", SINGLE, { ...tenant, ...next, policyUpdatedAt: now });
    draft.record("policy.updated", {
      changes: policyChanges(before, policy),
      ...(until === undefined ? {} : { until: new Date(until).toISOString() }),
      ...endedOverrides(tenant.overrides, next.overrides),
      state: statedTenant({ ...tenant, ...next, policyUpdatedAt: now }),
    });
    return { policy, updatedAt: now, version: version + 1 };
  },
};

export const updatePolicy = governed(updateNow, {
  kind: "loosen",
  about: () => ({ subject: "policy" }),
  terms: ({ approvals }, { patch }, state, now) => {
    const tenant = requireTenant(state);
    const before = policyAt(tenant, now);
    // A temporary change was agreed to for its time alone: a change must not loosen what returns after it either.
    const loosens = loosensPolicy(before, patch) || loosensPolicy(tenant.policy, patch);
    return loosens && approvals.loosen ? { holdHours: 0, approvals: approvals.loosen.approvals } : undefined;
  },
});

/** Removes overrides that have ended (by the clock alone) from the tenant's row, and records their end. */
export const endOverrides: CommandKind<object, { ended: number }> = {
  needs: () => [...TENANT_TO_WRITE],
  ownBatch: true,
  decide(draft, _, now) {
    const tenant = tenantOnRecord(draft);
    const left = tenant?.overrides.filter(({ until }) => until > now) ?? [];
    if (!tenant || left.length === tenant.overrides.length) return { ended: 0 };
    const before = policyAt(
      { ...tenant, overrides: tenant.overrides.map((each) => ({ ...each, until: now + 1 })) },
      now,
    );
    const after = policyAt({ ...tenant, overrides: left }, now);
    draft.put("tenant", SINGLE, { ...tenant, overrides: left, policyUpdatedAt: now });
    draft.record("policy.updated", {
      changes: policyChanges(before, after),
      ...endedOverrides(tenant.overrides, left),
      state: statedTenant({ ...tenant, overrides: left, policyUpdatedAt: now }),
    });
    return { ended: tenant.overrides.length - left.length };
  },
};

function endedOverrides(before: readonly Override[], after: readonly Override[]): { overridesEnded?: string[] } {
  const ended = before.map(({ field }) => field).filter((field) => !after.some((each) => each.field === field));
  return ended.length === 0 ? {} : { overridesEnded: ended };
}

function requireSound({ suitabilityThresholds }: Policy): void {
  const [problem] = tierProblems(suitabilityThresholds.tiers);
  if (problem) throw new Fault("BAD_REQUEST", `suitabilityThresholds.${problem.path.join(".")}: ${problem.message}`);
}

/** Changed fields as `{field: {from, to}}`, for the audit entry. */
export function policyChanges(before: Policy, after: Policy): PolicyChanges {
  const changes: PolicyChanges = {};
  for (const field of Object.keys(after) as (keyof Policy)[]) {
    const [from, to] = [before[field], after[field]];
    if (!isSame(from, to)) changes[field] = { from, to };
  }
  return changes;
}
