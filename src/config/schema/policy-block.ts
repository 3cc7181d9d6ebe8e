import { z } from "zod";
import { policyPatchSchema } from "../../contract/resources/policy.ts";
import { Name, text } from "../../contract/scalars.ts";
import { rowOf } from "../../domain/policy/fields.ts";
import { tierProblems, unreachableTiers } from "../../domain/policy/suitability.ts";
import { listOf, OutgoingUrl } from "./scalars.ts";

const Patch = policyPatchSchema(z.union([OutgoingUrl, z.literal(""), z.null()]));
const { shape } = Patch;
const jurisdictions = shape.jurisdictions.unwrap();
const thresholds = shape.suitabilityThresholds.unwrap();
const quoted = (field: "jurisdictions.allowed" | "jurisdictions.blocked") => ({
  description: `${rowOf(field).help} Quote the codes.`,
});

/**
 * The `policy` section, with the fields of `PUT /v1/policy`: unstated fields stay unmanaged. Compared with the API,
 * editors get more hints, unreachable tiers are refused, and error texts do not show an invalid address.
 */
export const PolicyBlock = Patch.extend({
  jurisdictions: jurisdictions
    .extend({
      allowed: jurisdictions.shape.allowed.meta(quoted("jurisdictions.allowed")),
      blocked: jurisdictions.shape.blocked.meta(quoted("jurisdictions.blocked")),
    })
    .optional()
    .describe("The jurisdictions from which users may trade."),
  suitabilityThresholds: thresholds
    .extend({
      tiers: thresholds.shape.tiers.describe("Exposure caps by score, ascending from 0."),
    })
    .check(({ value, issues }) => {
      // An unstated `blockBelow` keeps its live value, which is unknown here; with the lowest value every tier is reachable.
      const { blockBelow = 0, tiers = [] } = value;
      for (const { path, message } of [...tierProblems(tiers), ...unreachableTiers({ blockBelow, tiers })])
        issues.push({ code: "custom", input: value, path, message });
    })
    .optional()
    .describe(rowOf("suitabilityThresholds").help),
});

const Rule = z.strictObject({
  name: Name.describe("Unique name, which errors show and --accept-rule takes."),
  expr: text(2000).meta({
    description: "A CEL expression that must be true.",
    examples: ["feeBps <= 300", "worstCaseLoss < 0.2 * treasury"],
  }),
  effect: z
    .enum(["deny", "warn", "approve"])
    .default("deny")
    .describe("Effect if it is false: deny fails, warn prints a warning, approve asks a person."),
  message: text(500)
    .optional()
    .meta({
      description: "Message if it is false; the default is the expression.",
      examples: ["The fee is at most 3 %."],
    }),
});

/** The operator's requirements for the tenant's file and every plan. */
export const RulesSection = listOf(Rule, 100);

export type Rule = z.output<typeof Rule>;
