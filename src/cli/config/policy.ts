import type { Command } from "commander";
import { MAX_POLICY_TTL_SEC } from "../../contract/constants.ts";
import type { Api, WireResult } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { isMapping } from "../../domain/json/mapping.ts";
import { POLICY_FIELDS, type PolicyField, rowOf } from "../../domain/policy/fields.ts";
import { mergePolicy, type PolicyPatch } from "../../domain/policy/policy.ts";
import { isProposal } from "../../domain/policy/proposal.ts";
import type { SuitabilityThresholds } from "../../domain/policy/suitability.ts";
import { directionOf, policyValue, statedFields, statedValue } from "../../domain/policy/values.ts";
import { type Host, type Io, withSession } from "../command.ts";
import { defineCommand } from "../define-command.ts";
import { timeSpan, wholeNumber } from "../input/parsers.ts";
import { askReason, declined, mustAsk } from "../input/prompts.ts";
import { orDash, time, usd } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import { takeAnswers } from "./plan-choices.ts";

type Policy = WireResult<"getPolicy">;
type Updated = WireResult<"updatePolicy">;

interface SetOptions {
  patch: PolicyPatch;
  yes?: boolean | undefined;
  acceptLoosening?: boolean | undefined;
  reason?: string | undefined;
  /** The values hold for a while only. */
  endsByItself?: boolean;
}

export function register(noun: Command, host: Host): void {
  policyShow.register(noun, host);
  host.add<{ ttl?: number; acceptLoosening?: boolean; expectVersion?: number }>(
    takeAnswers(noun.command("set"), "acceptLoosening")
      .description(
        "change fields, such as feeBps=120 jurisdictions.blocked=US,CU; the others stay. Loosening one needs --reason",
      )
      .argument("<key=value...>", "a field and its new value; several at once are one change")
      .option(
        "--ttl <span>",
        "go back by itself after this time, such as 2h; at most 30d. Set it again without --ttl to end it before",
        timeSpan,
      )
      .option(
        "--expect-version <n>",
        "change nothing unless the configuration has this version, as GET /v1/config and the console show it",
        wholeNumber,
      ),
    { operation: "updatePolicy", ends: { 3: "a loosening was not accepted, or not confirmed: nothing was done" } },
    async ({ options, args, io }) => {
      const { policyPatch } = await import("./policy-assignments.ts");
      const { yes, acceptLoosening, reason, expectVersion } = options;
      const policyTtlSec = options.ttl === undefined ? undefined : options.ttl / 1000;
      const endsByItself = policyTtlSec !== undefined;
      const set = { patch: policyPatch(args), yes, acceptLoosening, reason, endsByItself };
      if (policyTtlSec !== undefined && policyTtlSec > MAX_POLICY_TTL_SEC)
        throw new Fault("USAGE", "--ttl is at most 30d: put a lasting value into the tenant file");
      mustAsk(set, io.prompts);
      await withSession(options, io, (session) =>
        runPolicySet(set, (reason) => session.api(undefined, { policyTtlSec, reason, expectVersion }), io),
      );
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
  summary: "show the policy in force",
  operation: "getPolicy",
  fields: fieldsOf,
});

const updatedView: View<Updated, Updated> = {
  kind: "record",
  fields: (policy) => [...fieldsOf(policy), ["updated", time(policy.updatedAt, { seconds: true })]],
};

/**
 * Changes the given fields, after showing what they are now. Loosening a limit needs a reason, and `--accept-loosening` or
 * the yes to a question that names it.
 * @param apiWith gives the operations, whose changes are recorded with a reason
 * @throws Fault USAGE when there is neither `--yes` nor a terminal to ask at, or no reason; REFUSED for a loosening
 * that no one accepts
 */
export async function runPolicySet(options: SetOptions, apiWith: (reason?: string) => Api, io: Io): Promise<void> {
  const { patch, acceptLoosening, endsByItself } = options;
  const asks = mustAsk(options, io.prompts);
  const policy = await apiWith().getPolicy({});
  const loosened = loosenedFields(policy, patch).join(", ");
  const reason = loosened === "" ? options.reason : await askReason(options, io.prompts, `Loosening ${loosened}`);
  if (asks) {
    io.output.note(describeChanges(policy, patch).join("\n"));
    const question = loosened === "" ? "Change the policy?" : `This LOOSENS ${loosened}. Change the policy?`;
    if (!(await io.prompts.confirm(question))) throw declined();
  } else if (loosened !== "" && !acceptLoosening)
    throw new Fault("REFUSED", `This loosens ${loosened}: accept it with --accept-loosening`);
  const updated = await apiWith(reason).updatePolicy(patch);
  await io.output.print(updated, updatedView);
  if (endsByItself && !isProposal(updated))
    io.output.note("It goes back by itself. To end it before, set it again without --ttl");
}

/** The fields whose new value allows something that the present value stops. */
function loosenedFields(policy: Policy, patch: PolicyPatch): PolicyField[] {
  const changes = statedFields(patch, mergePolicy(policy, patch));
  return changes.flatMap(([field, to]) =>
    directionOf(field, policyValue(policy, field) ?? null, to) === "loosens" ? field : [],
  );
}

/** `feeBps: 100 -> 120`, one line per field that the patch states. */
export function describeChanges(policy: Policy, patch: PolicyPatch): string[] {
  const lines = (before: object, after: object, prefix: string): string[] =>
    Object.entries(after).flatMap(([field, value]) => {
      const current = (before as Record<string, unknown>)[field];
      if (isMapping(value)) return lines(current as object, value, `${prefix}${field}.`);
      return `  ${prefix}${field}: ${JSON.stringify(current)} -> ${JSON.stringify(value)}`;
    });
  return lines(policy, patch, "");
}
