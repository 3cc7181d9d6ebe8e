import { z } from "zod";
import { PolicyPatchSchema } from "../../contract/resources/policy.ts";
import { tierProblems, unreachableTiers } from "../../domain/policy.ts";
import { OutgoingUrl } from "./scalars.ts";

const { shape } = PolicyPatchSchema;
const jurisdictions = shape.jurisdictions.unwrap();
const thresholds = shape.suitabilityThresholds.unwrap();

/**
 * The `policy` section: what `PUT /v1/policy` takes, so that what the file does not state stays unmanaged. Two
 * things differ: every field has a description for editors, and `resolution_url` may be http, because only here is
 * `network.allowPrivate` at hand, which a rule compares it with.
 */
export const PolicyBlock = PolicyPatchSchema.extend({
  jurisdictions: jurisdictions
    .extend({
      allowed: jurisdictions.shape.allowed.meta({
        description: "Only these may trade; empty for everywhere. Quote the codes.",
      }),
      blocked: jurisdictions.shape.blocked.meta({
        description: "These may not trade; wins over allowed. Quote the codes.",
      }),
    })
    .optional()
    .meta({ description: "Where users may trade from." }),
  suitabilityThresholds: thresholds
    .extend({
      tiers: thresholds.shape.tiers.meta({ description: "Exposure caps by score, ascending, the first at 0." }),
    })
    .check(({ value, issues }) => {
      // An unstated `blockBelow` keeps its live value, which is not known here; the lowest hides no tier.
      const { blockBelow = 0, tiers = [] } = value;
      for (const { path, message } of [...tierProblems(tiers), ...unreachableTiers({ blockBelow, tiers })])
        issues.push({ code: "custom", input: value, path, message });
    })
    .optional()
    .meta({ description: "What a suitability score allows." }),
  resolution_url: z
    .union([OutgoingUrl, z.literal(""), z.null()])
    .optional()
    .meta({ description: "Custom oracle that replaces the built-in one; null or empty for none." }),
});
