import type { Json } from "../audit/audit-link.ts";
import { type Direction, FIELDS, POLICY_FIELDS, type PolicyField, rowOf } from "./fields.ts";
import { type Policy, type PolicyPatch, policyPatchOf } from "./policy.ts";

/** Whether a name, such as one of the command line, is that of a policy field. */
export function isPolicyField(name: string): name is PolicyField {
  return Object.hasOwn(FIELDS, name);
}

/** The value of a field as a policy states it; undefined where it does not. */
export function statedValue(policy: PolicyPatch, field: PolicyField): Json | undefined {
  const [outer = field, inner] = field.split(".");
  const parts: { [name: string]: Json | undefined } = policy;
  const part = parts[outer];
  return inner === undefined ? part : (part as { [name: string]: Json | undefined } | undefined)?.[inner];
}

/** The value of a field in its one form: codes of a set in capitals, sorted and once; undefined where it is not stated. */
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

/** What is stated of a policy, every field in its one form. */
export function normalPolicy(policy: PolicyPatch): PolicyPatch {
  return policyPatchOf(
    POLICY_FIELDS.flatMap((field) => {
      const value = policyValue(policy, field);
      return value === undefined ? [] : [[field, value] as const];
    }),
  );
}

/**
 * Whether a change lets through what the old value would have stopped. A change that does both loosens.
 * @param from what `policyValue` gives of the field, as `to`
 */
export function directionOf(field: PolicyField, from: Json, to: Json): Direction {
  const { direction }: { direction: (from: never, to: never) => Direction } = rowOf(field);
  // Both are values of this field, which the types of a plan do not know.
  return direction(from as never, to as never);
}

/** The fields of a patch with their values, ready to be set one by one. */
export function statedFields(patch: PolicyPatch, merged: Policy): [PolicyField, Json][] {
  return POLICY_FIELDS.filter((field) => policyValue(patch, field) !== undefined).map((field) => [
    field,
    // Thresholds may be stated in part; what is set is the whole.
    policyValue(merged, field) as Json,
  ]);
}
