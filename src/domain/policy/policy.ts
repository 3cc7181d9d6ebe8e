import type { Json } from "../audit/audit-link.ts";
import { type Loose, overlay } from "../overlay.ts";
import { POLICY_FIELDS, type PolicyField, rowOf, type SimpleValues } from "./fields.ts";
import type { SuitabilityThresholds } from "./suitability.ts";

/**
 * The limits under which a tenant trades, as `GET /v1/policy` shows them. Amounts are USD numbers, as in JSON. A type
 * instead of an interface, so that the compiler accepts it as JSON.
 */
export type Policy = SimpleValues & {
  jurisdictions: { allowed: string[]; blocked: string[] };
  suitabilityThresholds: SuitabilityThresholds;
};

/** The content of a PUT: objects merge, arrays are replaced completely. */
export type PolicyPatch = Loose<SimpleValues> & {
  jurisdictions?: Loose<Policy["jurisdictions"]> | undefined;
  suitabilityThresholds?: Loose<SuitabilityThresholds> | undefined;
};

/** A patch that sets fields to values. */
export function policyPatchOf(values: Iterable<readonly [PolicyField, Json]>): PolicyPatch {
  const patch: { [name: string]: Json } = {};
  for (const [field, value] of values) {
    const [outer = field, inner] = field.split(".");
    if (inner === undefined) patch[outer] = value;
    else patch[outer] = { ...(patch[outer] as object | undefined), [inner]: value };
  }
  return patch as PolicyPatch;
}

/** The policy if nothing is stated. */
export const DEFAULT_POLICY = policyPatchOf(POLICY_FIELDS.map((field) => [field, rowOf(field).default])) as Policy;

/** A stored policy; fields that did not exist then have their defaults. */
export function storedPolicy(stored: Partial<Policy>): Policy {
  return { ...DEFAULT_POLICY, ...stored };
}

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

/** A value that temporarily replaces a field's own value. */
export interface Override {
  field: PolicyField;
  value: Json;
  /** Milliseconds since the epoch; from then on the field's own value applies again. */
  until: number;
}

/** The instant at which `policyAt` changes by time alone; `Infinity` if only a commit changes it. */
export function policyHoldsUntil({ overrides }: { overrides: readonly Override[] }, now: number): number {
  return Math.min(...overrides.flatMap(({ until }) => (until > now ? until : [])), Number.POSITIVE_INFINITY);
}

/** The policy at an instant: the stored policy with the overrides that have not ended by then. */
export function policyAt(
  { policy, overrides }: { policy: Policy; overrides: readonly Override[] },
  now: number,
): Policy {
  const valid = overrides.filter(({ until }) => until > now);
  if (valid.length === 0) return policy;
  return mergePolicy(policy, policyPatchOf(valid.map(({ field, value }) => [field, value])));
}
