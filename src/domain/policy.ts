import { type Override, policyPatchOf } from "./policy-fields.ts";

/**
 * The limits that a tenant trades under, as `GET /v1/policy` shows them. Amounts are USD numbers, as on the wire.
 * A type and no interface, so that the compiler knows it to be plain JSON.
 */
export type Policy = {
  feeBps: number;
  maxTradeUsd: number;
  maxUserExposureUsd: number;
  jurisdictions: { allowed: string[]; blocked: string[] };
  suitabilityRequired: boolean;
  suitabilityThresholds: SuitabilityThresholds;
  resolution_url: string | null;
};

export type SuitabilityThresholds = {
  /** A score below this blocks trading until re-assessment. */
  blockBelow: number;
  /** Ascending by `minScore`, the first at 0; `capUsd: null` means no cap. */
  tiers: { minScore: number; capUsd: number | null }[];
};

/** What a PUT may carry: objects merge, arrays are replaced whole. */
export type PolicyPatch = Loose<Omit<Policy, "jurisdictions" | "suitabilityThresholds">> & {
  jurisdictions?: Loose<Policy["jurisdictions"]> | undefined;
  suitabilityThresholds?: Loose<SuitabilityThresholds> | undefined;
};

type Loose<T> = { [K in keyof T]?: T[K] | undefined };

export const DEFAULT_POLICY: Policy = {
  feeBps: 100,
  maxTradeUsd: 500,
  maxUserExposureUsd: 10_000,
  jurisdictions: { allowed: [], blocked: [] },
  suitabilityRequired: false,
  suitabilityThresholds: {
    blockBelow: 0,
    tiers: [
      { minScore: 0, capUsd: 500 },
      { minScore: 9, capUsd: 2500 },
      { minScore: 15, capUsd: null },
    ],
  },
  resolution_url: null,
};

/** Applies a partial document. An empty `resolution_url` clears it, as `null` does. */
export function mergePolicy(policy: Policy, patch: PolicyPatch): Policy {
  const { jurisdictions, suitabilityThresholds, ...fields } = patch;
  const merged = overlay(policy, fields);
  return {
    ...merged,
    jurisdictions: overlay(policy.jurisdictions, jurisdictions ?? {}),
    suitabilityThresholds: overlay(policy.suitabilityThresholds, suitabilityThresholds ?? {}),
    resolution_url: merged.resolution_url || null,
  };
}

/** `base` with the defined entries of `patch`. */
function overlay<T extends object>(base: T, patch: Loose<T>): T {
  const defined = Object.entries(patch).filter(([, value]) => value !== undefined);
  return { ...base, ...(Object.fromEntries(defined) as Partial<T>) };
}

/** The policy that holds at an instant: the stored one under the overrides that have not ended by then. */
export function policyAt(
  { policy, overrides }: { policy: Policy; overrides: readonly Override[] },
  now: number,
): Policy {
  const valid = overrides.filter(({ until }) => until > now);
  if (valid.length === 0) return policy;
  return mergePolicy(policy, policyPatchOf(valid.map(({ field, value }) => [field, value])));
}

interface ThresholdProblem {
  path: (string | number)[];
  message: string;
}

/** Why tiers cannot work, with the path of the offending value; empty when they can. */
export function tierProblems(tiers: SuitabilityThresholds["tiers"]): ThresholdProblem[] {
  const problems: ThresholdProblem[] = [];
  tiers.forEach((tier, index) => {
    const previous = tiers[index - 1];
    const at = (message: string) => problems.push({ path: ["tiers", index, "minScore"], message });
    if (!previous && tier.minScore !== 0)
      at(`the first tier must start at 0, or scores below ${tier.minScore} have none`);
    if (previous && tier.minScore <= previous.minScore)
      at(`tiers must ascend: ${tier.minScore} follows ${previous.minScore}`);
  });
  return problems;
}

/**
 * Tiers that no score reaches, because trading is blocked for all of theirs. A mistake in a file, which states both; a
 * live policy may be so, because whoever raises `blockBelow` alone means to block those scores.
 */
export function unreachableTiers({ tiers, blockBelow }: SuitabilityThresholds): ThresholdProblem[] {
  return tiers.flatMap(({ minScore }, index) => {
    const next = tiers[index + 1];
    if (!next || next.minScore <= minScore || next.minScore > blockBelow) return [];
    const message = `no score reaches this tier: trading is blocked below ${blockBelow}`;
    return [{ path: ["tiers", index, "minScore"], message }];
  });
}
