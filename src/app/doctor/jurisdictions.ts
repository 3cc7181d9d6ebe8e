import type { Policy } from "../../domain/policy/policy.ts";
import { counted } from "../../domain/text.ts";
import { countVerifiedOfUnknownPlace } from "../../queries/traders/jurisdictions.ts";
import { readPolicy } from "../../services/configuration/policy.ts";
import { type Check, type CheckGroup, ok, warn, withoutDatabase } from "./check.ts";

export const jurisdictionsGroup: CheckGroup = {
  name: "jurisdictions",
  run: async ({ sql }) => {
    if (!sql) return withoutDatabase("jurisdictions");
    const { value: policy } = await readPolicy(sql);
    return [evaluateJurisdictions(policy.jurisdictions, await countVerifiedOfUnknownPlace(sql))];
  },
};

/**
 * Whether the policy refuses users because nothing says where they live: to an integration whose identity check names no
 * jurisdiction that looks like an outage.
 * @param unknown verified users whose identity check named none, or no code of ISO 3166
 */
export function evaluateJurisdictions({ allowed, blocked }: Policy["jurisdictions"], unknown: number): Check {
  if (allowed.length === 0 && blocked.length === 0)
    return ok("jurisdictions", "users of any jurisdiction may trade, a known one or not");
  const rule = "policy.jurisdictions refuses users whose jurisdiction is unknown";
  const remedy =
    "Send `jurisdiction` with the identity check (kyc.passed) or as a claim of the user's token, or empty both lists of policy.jurisdictions";
  if (unknown === 0) return ok("jurisdictions", `${rule}; each verified user has one on record`);
  return warn("jurisdictions", `${rule}: ${counted(unknown, "verified user")} without one on record`, remedy);
}
