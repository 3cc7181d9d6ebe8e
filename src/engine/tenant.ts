import { canonicalJson, type Json } from "../domain/audit-link.ts";
import { Fault } from "../domain/fault.ts";
import { decimalFromMicro } from "../domain/money.ts";
import {
  DEFAULT_POLICY,
  mergePolicy,
  type Policy,
  type PolicyPatch,
  policyDifference,
  thresholdProblems,
} from "../domain/policy.ts";
import type { ApplyConfig, RecordReconciliation, Results, UpdatePolicy } from "./commands.ts";
import type { Draft } from "./draft.ts";
import { requireTenant } from "./markets.ts";
import { type ApiKey, CAPITAL, SINGLE, type Tenant, TREASURY } from "./rows.ts";

/** Changes the given fields; a patch that changes nothing leaves no trace. */
export function updatePolicy(draft: Draft, { patch, ifVersion }: UpdatePolicy, now: number): Results["updatePolicy"] {
  const tenant = requireTenant(draft);
  const { version } = tenant;
  if (ifVersion && !ifVersion.includes(version))
    throw new Fault("PRECONDITION_FAILED", "The policy was changed since it was read");
  const policy = mergePolicy(tenant.policy, patch);
  const [problem] = thresholdProblems(policy.suitabilityThresholds);
  if (problem) throw new Fault("BAD_REQUEST", `suitabilityThresholds.${problem.path.join(".")}: ${problem.message}`);
  const changes = policyChanges(tenant.policy, policy);
  if (Object.keys(changes).length === 0) return { policy, updatedAt: tenant.policyUpdatedAt, version };
  draft.put("tenant", SINGLE, { ...tenant, policy, policyUpdatedAt: now });
  draft.record("policy.updated", { changes });
  return { policy, updatedAt: now, version: version + 1 };
}

/** Changed fields as `{field: {from, to}}`, for the audit entry. */
function policyChanges(before: Policy, after: Policy): { [field: string]: Json } {
  const changes: { [field: string]: Json } = {};
  for (const field of Object.keys(after) as (keyof Policy)[]) {
    const [from, to] = [before[field] as Json, after[field] as Json];
    if (canonicalJson(from) !== canonicalJson(to)) changes[field] = { from, to };
  }
  return changes;
}

export function recordReconciliation(
  draft: Draft,
  { ok, discrepancyMicro }: RecordReconciliation,
  now: number,
): Results["recordReconciliation"] {
  draft.record("reconcile.run", { ok, discrepancy: decimalFromMicro(discrepancyMicro) });
  return { checkedAt: now };
}

/**
 * Brings the tenant to the file's state in one commit: policy, settings, keys, and the capital that is still missing
 * from the treasury. A second apply of the same document changes nothing and records nothing.
 */
export function applyConfig(draft: Draft, command: ApplyConfig, now: number): Results["applyConfig"] {
  const { kycRequired, liquidityMicro, capitalMicro, document } = command;
  const before = draft.get("tenant", SINGLE);
  const policy = appliedPolicy(before, command.policy);
  const keysChanged = applyKeys(draft, command.keys, now);
  const policyChanged = !before || Object.keys(policyChanges(before.policy, policy)).length > 0;
  if (before && !keysChanged && !policyChanged && before.document === document) return { changed: false };

  const capitalBefore = before?.capitalMicro ?? 0n;
  if (capitalMicro > capitalBefore) draft.transfer(CAPITAL, TREASURY, capitalMicro - capitalBefore);
  draft.put("tenant", SINGLE, {
    policy,
    policyUpdatedAt: policyChanged ? now : before.policyUpdatedAt,
    kycRequired,
    liquidityMicro,
    capitalMicro: capitalMicro > capitalBefore ? capitalMicro : capitalBefore,
    document,
    version: before?.version ?? 0,
  });
  draft.record("config.applied", {
    sha256: command.documentSha256,
    gitCommit: command.gitCommit,
    policy: before ? policyChanges(before.policy, policy) : (policy as unknown as Json),
    capitalAdded: decimalFromMicro(capitalMicro > capitalBefore ? capitalMicro - capitalBefore : 0n),
  });
  return { changed: true };
}

/** The live policy with the fields that the file changed since the last apply: what was set live meanwhile is kept. */
function appliedPolicy(before: Tenant | undefined, desired: PolicyPatch): Policy {
  if (!before) return mergePolicy(DEFAULT_POLICY, desired);
  const { policy: base = {} } = JSON.parse(before.document) as { policy?: PolicyPatch };
  return mergePolicy(before.policy, policyDifference(base, desired));
}

/** The file's keys become the only live ones of their names; a key that left the file is revoked at once. */
function applyKeys(draft: Draft, wanted: ApplyConfig["keys"], now: number): boolean {
  const keyring = draft.get("keyring", SINGLE) ?? [];
  const next: ApiKey[] = keyring.map((key) => {
    const listed = wanted.find(({ hash }) => hash === key.hash);
    const expiresAt = listed ? listed.expiresAt : expired(key, now) ? key.expiresAt : now;
    return expiresAt === key.expiresAt ? key : { ...key, expiresAt };
  });
  for (const key of wanted)
    if (!keyring.some(({ hash }) => hash === key.hash)) next.push({ ...key, createdAt: now, version: 0 });
  const changed = next.filter((key) => !keyring.includes(key));
  for (const key of changed) {
    draft.put("apiKey", key.hash, key);
    draft.record(expired(key, now) ? "key.revoked" : "key.created", { name: key.name, type: key.type });
  }
  if (changed.length > 0) draft.put("keyring", SINGLE, next);
  return changed.length > 0;
}

function expired(key: ApiKey, now: number): boolean {
  return key.expiresAt !== null && key.expiresAt <= now;
}
