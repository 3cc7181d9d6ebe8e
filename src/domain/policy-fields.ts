import type { Json } from "./audit/audit-link.ts";
import type { Policy, PolicyPatch, SuitabilityThresholds } from "./policy.ts";
import { covers, isPassed, suitabilityCapUsd } from "./trader.ts";

/** The parts of a policy that are planned, overridden and guarded one by one. */
export const POLICY_FIELDS = [
  "feeBps",
  "maxTradeUsd",
  "maxUserExposureUsd",
  "jurisdictions.allowed",
  "jurisdictions.blocked",
  "suitabilityRequired",
  "suitabilityThresholds",
  "resolution_url",
] as const;
export type PolicyField = (typeof POLICY_FIELDS)[number];

/** What a change does to the limits that traders and the house are protected by. */
export type Direction = "loosens" | "tightens" | "neutral";

/** Whether a name, such as one of the command line, is that of a policy field. */
export function isPolicyField(name: string): name is PolicyField {
  return (POLICY_FIELDS as readonly string[]).includes(name);
}

/** The value of a field in its one form: codes of a set in capitals, sorted and once; undefined where it is not stated. */
export function policyValue(policy: PolicyPatch, field: PolicyField): Json | undefined {
  switch (field) {
    case "jurisdictions.allowed":
      return codeSet(policy.jurisdictions?.allowed);
    case "jurisdictions.blocked":
      return codeSet(policy.jurisdictions?.blocked);
    case "suitabilityThresholds":
      return policy.suitabilityThresholds as Json | undefined;
    case "resolution_url":
      return policy.resolution_url === undefined ? undefined : policy.resolution_url || null;
    default:
      return policy[field];
  }
}

/** A patch that sets fields to values that `policyValue` gave. */
export function policyPatchOf(values: Iterable<readonly [PolicyField, Json]>): PolicyPatch {
  const patch: { [name: string]: Json } = {};
  for (const [field, value] of values) {
    const [outer = field, inner] = field.split(".");
    if (inner === undefined) patch[outer] = value;
    else patch[outer] = { ...(patch[outer] as object | undefined), [inner]: value };
  }
  return patch as PolicyPatch;
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

function codeSet(codes: readonly string[] | undefined): string[] | undefined {
  return codes && [...new Set(codes.map((code) => code.toUpperCase()))].sort();
}

/**
 * Whether a change lets through what the old value would have stopped. A change that does both loosens. The fee is
 * neither; an oracle of one's own is given the last word on every market, so naming one loosens.
 */
export function directionOf(field: PolicyField, from: Json, to: Json): Direction {
  switch (field) {
    case "feeBps":
      return "neutral";
    case "maxTradeUsd":
    case "maxUserExposureUsd":
      return Number(to) > Number(from) ? "loosens" : "tightens";
    case "jurisdictions.allowed":
      return admitsMore(from as string[], to as string[]) ? "loosens" : "tightens";
    case "jurisdictions.blocked":
      return (from as string[]).every((code) => isCovered(code, to as string[])) ? "tightens" : "loosens";
    case "suitabilityRequired":
      return to === true ? "tightens" : "loosens";
    case "suitabilityThresholds":
      return raisesCaps(from as SuitabilityThresholds, to as SuitabilityThresholds) ? "loosens" : "tightens";
    case "resolution_url":
      return to === null ? "tightens" : "loosens";
  }
}

/** An empty list admits everybody. */
function admitsMore(from: readonly string[], to: readonly string[]): boolean {
  if (from.length === 0) return false;
  return to.length === 0 || !to.every((code) => isCovered(code, from));
}

function isCovered(code: string, list: readonly string[]): boolean {
  return list.some((each) => covers(each, code));
}

const HIGHEST_SCORE = 20;

function raisesCaps(from: SuitabilityThresholds, to: SuitabilityThresholds): boolean {
  for (let score = 0; score <= HIGHEST_SCORE; score++) if (capOf(score, to) > capOf(score, from)) return true;
  return false;
}

/** Below every cap, -1, where trading is blocked altogether; above every cap where there is none. */
function capOf(score: number, thresholds: SuitabilityThresholds): number {
  if (!isPassed(score, thresholds)) return -1;
  return suitabilityCapUsd(score, thresholds) ?? Number.POSITIVE_INFINITY;
}

/** A value that holds for a time over a field's own, and ends by itself. */
export interface Override {
  field: PolicyField;
  value: Json;
  /** Milliseconds since the epoch; from then on the field's own value holds again. */
  until: number;
}

/** The fields of a patch with their values, ready to be set one by one. */
export function statedFields(patch: PolicyPatch, merged: Policy): [PolicyField, Json][] {
  return POLICY_FIELDS.filter((field) => policyValue(patch, field) !== undefined).map((field) => [
    field,
    // Thresholds may be stated in part; what is set is the whole.
    policyValue(merged, field) as Json,
  ]);
}
