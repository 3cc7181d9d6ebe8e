import type { Command } from "commander";
import type { Api, WireResult } from "../../contract/operations.ts";
import { MAX_POLICY_TTL_SEC } from "../../contract/resources/policy.ts";
import { Fault } from "../../domain/fault.ts";
import { POLICY_FIELDS, type PolicyField, rowOf } from "../../domain/policy/fields.ts";
import type { PolicyPatch } from "../../domain/policy/policy.ts";
import type { SuitabilityThresholds } from "../../domain/policy/suitability.ts";
import { statedValue } from "../../domain/policy/values.ts";
import { type Host, type Io, withSession } from "../command.ts";
import { defineCommand } from "../define-command.ts";
import { timeSpan } from "../input/parsers.ts";
import { declined, mustAsk } from "../input/prompts.ts";
import { orDash, time, usd } from "../output/cells.ts";
import type { View } from "../output/output.ts";

type Policy = WireResult<"getPolicy">;
type Updated = WireResult<"updatePolicy">;

interface SetOptions {
  patch: PolicyPatch;
  yes?: boolean | undefined;
}

export function register(noun: Command, host: Host): void {
  policyShow.register(noun, host);
  host.add<{ ttl?: number }>(
    noun
      .command("set")
      .description("change fields, such as feeBps=120 jurisdictions.blocked=US,CU; the others stay")
      .argument("<key=value...>", "a field and its new value; several at once are one change")
      .option("--ttl <span>", "go back by itself after this time, such as 2h; at most 30d", timeSpan),
    { operation: "updatePolicy" },
    async ({ options, args, io }) => {
      const { policyPatch } = await import("./policy-assignments.ts");
      const set = { patch: policyPatch(args), yes: options.yes };
      const policyTtlSec = options.ttl === undefined ? undefined : options.ttl / 1000;
      if (policyTtlSec !== undefined && policyTtlSec > MAX_POLICY_TTL_SEC)
        throw new Fault("USAGE", "--ttl is at most 30d: put what holds longer into the tenant file");
      mustAsk(set, io.prompts);
      return withSession(options, io, (session) => runPolicySet(set, session.api(undefined, { policyTtlSec }), io));
    },
  );
}

function fieldsOf(policy: Policy): [string, string][] {
  return POLICY_FIELDS.flatMap((field) => cellsOf(policy, field));
}

function cellsOf(policy: Policy, field: PolicyField): [string, string][] {
  const { kind, empty } = rowOf(field);
  const value = statedValue(policy, field) ?? null;
  switch (kind) {
    case "usd":
      return [[field, usd(Number(value))]];
    case "countries":
      return [[field, Array.isArray(value) && value.length > 0 ? value.join(", ") : orDash(empty)]];
    case "thresholds":
      return thresholdCells(field, policy.suitabilityThresholds);
    default:
      return [[field, orDash(value === null ? null : String(value))]];
  }
}

function thresholdCells(field: PolicyField, { blockBelow, tiers }: SuitabilityThresholds): [string, string][] {
  const caps = tiers.map(({ minScore, capUsd }) => `${minScore}+: ${capUsd === null ? "no cap" : usd(capUsd)}`);
  return [
    [`${field}.blockBelow`, String(blockBelow)],
    [`${field}.tiers`, caps.join("; ")],
  ];
}

export const policyShow = defineCommand({
  name: "show",
  summary: "the policy in force",
  operation: "getPolicy",
  input: () => ({}),
  view: { kind: "record", fields: fieldsOf },
});

const updatedView: View<Updated, Updated> = {
  kind: "record",
  fields: (policy) => [...fieldsOf(policy), ["updated", time(policy.updatedAt, { seconds: true })]],
};

/**
 * Changes the given fields, after showing what they are now.
 * @throws Fault USAGE when there is neither `--yes` nor a terminal to ask at
 */
export async function runPolicySet(options: SetOptions, api: Api, io: Io): Promise<void> {
  const { patch } = options;
  if (mustAsk(options, io.prompts)) {
    io.output.note(describeChanges(await api.getPolicy({}), patch).join("\n"));
    if (!(await io.prompts.confirm("Change the policy?"))) throw declined();
  }
  await io.output.print(await api.updatePolicy(patch), updatedView);
}

/** `feeBps: 100 -> 120`, one line per field that the patch states. */
function describeChanges(policy: Policy, patch: PolicyPatch): string[] {
  const lines = (before: object, after: object, prefix: string): string[] =>
    Object.entries(after).flatMap(([field, value]) => {
      const current = (before as Record<string, unknown>)[field];
      if (typeof value === "object" && value !== null && !Array.isArray(value))
        return lines(current as object, value, `${prefix}${field}.`);
      return `  ${prefix}${field}: ${JSON.stringify(current)} -> ${JSON.stringify(value)}`;
    });
  return lines(policy, patch, "");
}
