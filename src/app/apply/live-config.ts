import type { WireInput, WireResult } from "../../contract/operations.ts";
import { canonicalJson, type Json } from "../../domain/audit/audit-link.ts";
import { invariant } from "../../domain/fault.ts";
import { type FeedHashes, termsOf } from "../../domain/market/terms.ts";
import { DEFAULT_POLICY } from "../../domain/policy/policy.ts";
import type { Writes } from "../../plan/plan-decision.ts";
import type { Desired, LiveConfig, Plan } from "../../plan/plan-types.ts";

/** The answer of `getConfig`, in the planner's types. */
export function liveConfigOf(config: WireResult<"getConfig">): LiveConfig {
  const { overrides, keys, endedKeys, markets, document, freeze, now, tenant: _, changes: __, ...rest } = config;
  const at = (text: string) => Date.parse(text);
  const keyOf = ({ createdAt, expiresAt, ...key }: (typeof keys)[number]) => ({
    ...key,
    createdAt: at(createdAt),
    expiresAt: expiresAt === null ? null : at(expiresAt),
  });
  return {
    ...rest,
    overrides: overrides.map(({ until, ...override }) => ({
      ...override,
      value: override.value as Json,
      until: at(until),
    })),
    keys: keys.map(keyOf),
    endedKeys: endedKeys.map(keyOf),
    markets: markets.map(({ closeAt, ...market }) => ({ ...market, closeAt: at(closeAt) })),
    freeze: freeze.frozenUntil === null ? undefined : { ...freeze, frozenUntil: freeze.frozenUntil },
    document: (document ?? undefined) as LiveConfig["document"],
    now: at(now),
  };
}

/** The live configuration of a tenant that was never applied. */
export function neverApplied(now: number): LiveConfig {
  return {
    version: 0,
    policy: DEFAULT_POLICY,
    overrides: [],
    kycRequired: true,
    liquidityUsd: 0,
    capitalUsd: 0,
    treasuryUsd: 0,
    atRiskUsd: 0,
    keys: [],
    endedKeys: [],
    markets: [],
    document: undefined,
    freeze: undefined,
    now,
  };
}

/** What an apply records beyond its plan. */
interface ApplyFacts {
  gitCommit: string | null;
  /** The audit entry whose document is brought back. */
  rollbackTo?: number | undefined;
  /** Of the feeds as the files define them; a running server may not know the new ones yet. */
  hashes: FeedHashes;
}

/** A version that no tenant has. */
const NO_VERSION = Number.MAX_SAFE_INTEGER;

/** The input of a request that the first answer to its idempotency key answers; where there is none, it is refused as stale. */
export function repeatInputOf({ plan, desired }: { plan: Plan; desired: Desired }): WireInput<"applyConfig"> {
  const { document, stored = document } = desired;
  return {
    tenant: plan.tenant,
    ifVersion: NO_VERSION,
    policy: {},
    kycRequired: document.kyc.required,
    liquidityUsd: document.markets.liquidityUsd,
    capitalUsd: 0,
    keys: [],
    revoke: [],
    markets: [],
    feeds: {},
    marketStates: [],
    document: JSON.parse(canonicalJson(stored)) as WireInput<"applyConfig">["document"],
    documentSha256: desired.fileSha256,
    gitCommit: null,
    rollbackTo: null,
    adopted: [],
  };
}

/** The input of `POST /v1/config` for the writes of a plan. */
export function applyInputOf(
  writes: Writes,
  { plan, desired }: { plan: Plan; desired: Desired },
  { gitCommit, rollbackTo, hashes }: ApplyFacts,
): WireInput<"applyConfig"> {
  const { document } = writes;
  const declared = writes.create.flatMap((key) => {
    const terms = document.declared[key];
    return terms ? [{ ...terms, key }] : [];
  });
  const feeds = declared.flatMap((market) => {
    const outcome = termsOf(market, hashes);
    return outcome.kind === "terms" ? [[outcome.terms.feed, outcome.terms.feedSha256] as const] : [];
  });
  return {
    tenant: plan.tenant,
    ifVersion: plan.liveVersion,
    // A plan states thresholds whole.
    policy: writes.policy as WireInput<"applyConfig">["policy"],
    kycRequired: writes.kycRequired,
    liquidityUsd: writes.liquidityUsd,
    capitalUsd: writes.capitalUsd,
    keys: writes.keys.map(({ name, type, hash, scopes, from, expiresAt }) => {
      invariant(hash !== undefined, "an apply has the values of the keys that it makes");
      return {
        name,
        type,
        sha256: hash,
        ...(type === "admin" && { scopes: [...scopes] }),
        from: [...from],
        expiresAt: expiresAt === null ? null : iso(expiresAt),
      };
    }),
    revoke: writes.revoke,
    ...(writes.names.length > 0 && { names: writes.names }),
    markets: declared.map(({ liquidityUsd = document.markets.liquidityUsd, closeAt, ...market }) => ({
      ...market,
      liquidityUsd,
      closeAt: iso(closeAt),
    })),
    feeds: Object.fromEntries(feeds),
    marketStates: writes.states,
    // Through its text, which leaves out what is not stated.
    document: JSON.parse(canonicalJson(document)) as WireInput<"applyConfig">["document"],
    documentSha256: desired.fileSha256,
    gitCommit,
    rollbackTo: rollbackTo ?? null,
    adopted: Object.keys(document.adopted),
    ...(writes.breakFreeze && { breakFreeze: true }),
  };
}

function iso(instant: number): string {
  return new Date(instant).toISOString();
}
