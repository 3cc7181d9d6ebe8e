import { canonicalJson, type Json } from "../audit/audit-link.ts";
import { type Direction, FIELDS, POLICY_FIELDS, type PolicyField, rowOf } from "./fields.ts";
import { mergePolicy, type Policy, type PolicyPatch, policyPatchOf } from "./policy.ts";

/** Whether a name, such as one from the command line, is a policy field. */
export function isPolicyField(name: string): name is PolicyField {
  return Object.hasOwn(FIELDS, name);
}

/** The stated value of a field; undefined if the policy does not state it. */
export function statedValue(policy: PolicyPatch, field: PolicyField): Json | undefined {
  const [outer = field, inner] = field.split(".");
  const parts: { [name: string]: Json | undefined } = policy;
  const part = parts[outer];
  return inner === undefined ? part : (part as { [name: string]: Json | undefined } | undefined)?.[inner];
}

/** The normalised value of a field: codes of a set in capitals, sorted and without repeats; undefined if it is not stated. */
export function policyValue(policy: PolicyPatch, field: PolicyField): Json | undefined {
  const value = statedValue(policy, field);
  if (value === undefined) return undefined;
  const { kind } = rowOf(field);
  if (kind === "countries") return codeSet(value as string[]);
  return kind === "address" ? value || null : value;
}

function codeSet(codes: readonly string[]): string[] {
  return [...new Set(codes.map((code) => code.toUpperCase()))].sort();
}

/** The stated part of a policy with normalised values. */
export function normalPolicy(policy: PolicyPatch): PolicyPatch {
  return policyPatchOf(
    POLICY_FIELDS.flatMap((field) => {
      const value = policyValue(policy, field);
      return value === undefined ? [] : [[field, value] as const];
    }),
  );
}

/**
 * Whether a change allows what the old value would have stopped. A change that loosens and tightens counts as loosening.
 * @param from a result of `policyValue` for the field, like `to`
 */
export function directionOf(field: PolicyField, from: Json, to: Json): Direction {
  const { direction }: { direction: (from: never, to: never) => Direction } = rowOf(field);
  // Both values belong to this field, which the types of a plan do not express.
  return direction(from as never, to as never);
}

/** Whether a patch loosens any field of a policy. A field that it states as it is changes nothing. */
export function loosensPolicy(policy: Policy, patch: PolicyPatch): boolean {
  return statedFields(patch, mergePolicy(policy, patch)).some(([field, value]) => {
    const from = policyValue(policy, field) as Json;
    return canonicalJson(from) !== canonicalJson(value) && directionOf(field, from, value) === "loosens";
  });
}

/** The stated fields of a patch with their values, ready to be set one by one. */
export function statedFields(patch: PolicyPatch, merged: Policy): [PolicyField, Json][] {
  return POLICY_FIELDS.filter((field) => policyValue(patch, field) !== undefined).map((field) => [
    field,
    // A patch may state thresholds in part; the whole value is set.
    policyValue(merged, field) as Json,
  ]);
}
