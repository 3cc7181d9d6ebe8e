import { z } from "zod";
import { MAX_AMOUNT_USD, microFromUsd } from "../../domain/money.ts";
import { isSimple, POLICY_FIELDS, rowOf, type SimpleRow, type SimpleValues } from "../../domain/policy/fields.ts";
import { countryMeant, placeOf, problemOfCountry } from "../../domain/policy/jurisdictions.ts";
import type { Policy, PolicyPatch } from "../../domain/policy/policy.ts";
import { HIGHEST_SCORE, tierProblems } from "../../domain/policy/suitability.ts";
import { operationsUnder } from "../operation.ts";
import { OutgoingUrl, Timestamp } from "../scalars.ts";
import { orProposal } from "./ends/proposals.ts";

/** More than 0, in whole micro-dollars. */
const Limit = z
  .number()
  .positive()
  .max(MAX_AMOUNT_USD)
  .refine((value) => microFromUsd(value) !== undefined, "must have at most 6 decimals");

const COUNTRY_FORM = /^[A-Za-z]{2}(-[A-Za-z0-9]{1,3})?$/;
const NO_CODE = "must be an ISO 3166 code such as US or US-NY";

/**
 * A user's location, as identity checks and tokens state it. A recognised spelling is decoded to its ISO 3166 code,
 * such as GB for UK or GBR. Other text of that form stays as it is and counts as an unknown place.
 */
export const PlaceCode = z
  .string()
  .overwrite((code) => placeOf(code) ?? code.toUpperCase())
  .regex(COUNTRY_FORM, NO_CODE)
  .meta({
    id: "PlaceCode",
    description: "ISO 3166-1 alpha-2, alpha-3 or 3166-2 code, in any case; `US` covers `US-NY`.",
    examples: ["US-NY"],
  });

/** Checks only the form of an ISO 3166-1 or 3166-2 code. */
export const CountryCode = z
  .string()
  .regex(COUNTRY_FORM, NO_CODE)
  .toUpperCase()
  .meta({
    id: "CountryCode",
    description: "ISO 3166-1 alpha-2 or 3166-2 code; `US` covers `US-NY`.",
    examples: ["US-NY"],
  });

/** An ISO 3166 code: any other, such as UK, would block no user. YAML 1.1 tools read NO as false, hence the hint. */
const ListedCountry = z
  .string({
    error: (issue) => (typeof issue.input === "boolean" ? 'must be a text: quote the code ("NO")' : undefined),
  })
  .toUpperCase()
  .check(({ value, issues }) => {
    const message = problemOfCountry(value);
    if (message === undefined) return;
    issues.push({
      code: "custom",
      input: value,
      message,
      params: { code: "UNKNOWN_COUNTRY", meant: countryMeant(value) },
    });
  })
  .meta({
    id: "ListedCountry",
    description: "A listed ISO 3166-1 alpha-2 or 3166-2 code; `US` covers `US-NY`.",
    pattern: COUNTRY_FORM.source,
    examples: ["US-NY"],
  });

/** The address of a custom oracle, as an input may state it. */
const Address = z.union([OutgoingUrl, z.literal(""), z.null()], {
  error: "must be an https address without credentials, or null for none",
});

type AddressSchema = z.ZodType<string | null, string | null>;

type SimpleShape = { [Name in keyof SimpleValues]: z.ZodType<SimpleValues[Name], SimpleValues[Name]> };

/** The schemas of the single-valued fields, made from their rows. */
function simpleFields(schemaOf: (row: SimpleRow) => z.ZodType): SimpleShape {
  const shape = POLICY_FIELDS.flatMap((field) => {
    const row = rowOf(field);
    if (!isSimple(row)) return [];
    const examples = typeof row.default === "number" ? { examples: [row.default] } : {};
    return [[field, schemaOf(row).meta({ description: row.help, ...examples })]];
  });
  return Object.fromEntries(shape) as SimpleShape;
}

/** The single-valued fields as an input may state them. */
const writtenFields = (address: AddressSchema = Address) =>
  simpleFields((row) => {
    switch (row.kind) {
      case "integer":
        return z.number().int().min(row.min).max(row.max);
      case "usd":
        return Limit;
      case "flag":
        return z.boolean();
      case "address":
        return address;
    }
  });

const jurisdictions = (code: z.ZodType<string, string>) => ({
  allowed: z
    .array(code)
    .max(300)
    .meta({ description: rowOf("jurisdictions.allowed").help }),
  blocked: z
    .array(code)
    .max(300)
    .meta({ description: rowOf("jurisdictions.blocked").help }),
});
const Thresholds = {
  description: rowOf("suitabilityThresholds").help,
  examples: [{ blockBelow: 0, tiers: [{ minScore: 0, capUsd: 500 }] }],
};
const tier = z.object({
  minScore: z.number().int().min(0).max(HIGHEST_SCORE).describe("The lowest score of the tier."),
  capUsd: Limit.nullable().describe("Exposure cap in USD; null for none."),
});
const thresholds = z.strictObject({
  blockBelow: z.number().int().min(0).max(HIGHEST_SCORE).describe("A score below this blocks trading."),
  tiers: z
    .array(tier.strict())
    .min(1)
    .max(HIGHEST_SCORE + 1),
});
const wholeThresholds = thresholds
  .check((context) => {
    for (const { path, message } of tierProblems(context.value.tiers))
      context.issues.push({ code: "custom", input: context.value, path, message });
  })
  .meta(Thresholds);

/** A whole policy as an input, for comparing rules. */
export const PolicySchema = z
  .strictObject({
    ...writtenFields(),
    jurisdictions: z.strictObject(jurisdictions(CountryCode)),
    suitabilityThresholds: wholeThresholds,
  })
  .meta({ id: "PolicyTerms", description: "A whole policy." }) satisfies z.ZodType<Policy>;

/** The whole policy in answers. Later versions may add fields to it. */
export const StoredPolicy = z
  .object({
    ...PolicySchema.shape,
    jurisdictions: z.object(PolicySchema.shape.jurisdictions.shape),
    suitabilityThresholds: z
      .object({ ...thresholds.shape, tiers: z.array(tier) })
      .meta({ id: "SuitabilityThresholds", ...Thresholds }),
  })
  .meta({ id: "Policy", description: "The limits under which the tenant's users trade." });

/**
 * Every field optional, unknown keys refused at any depth: a misspelt limit must not pass.
 * @param address the schema for address fields
 * @param country the schema for country codes
 */
export function policyPatchSchema(
  address: AddressSchema = Address,
  country: z.ZodType<string, string> = ListedCountry,
) {
  return z
    .strictObject({
      ...writtenFields(address),
      jurisdictions: z.strictObject(jurisdictions(country)).partial(),
      suitabilityThresholds: thresholds.partial(),
    })
    .partial();
}

/** The policy of an earlier apply. It may hold codes that were accepted before codes were checked against ISO 3166. */
export const AppliedPolicy = policyPatchSchema(Address, CountryCode);

/** What `PUT /v1/policy` takes. */
export const PolicyPatchSchema = policyPatchSchema().meta({
  id: "PolicyPatch",
  description: "The policy fields to change; others keep their values.",
  examples: [{ maxTradeUsd: 500, jurisdictions: { blocked: ["US-NY"] } }],
}) satisfies z.ZodType<PolicyPatch>;

/** The fields that a plan writes, each with its complete value. */
export const PolicyWhole = PolicyPatchSchema.extend({
  suitabilityThresholds: wholeThresholds.optional(),
}).meta({
  id: "PolicyFields",
  description: "Some policy fields, each with its complete value.",
  examples: [{ maxTradeUsd: 500, suitabilityThresholds: { blockBelow: 0, tiers: [{ minScore: 0, capUsd: 500 }] } }],
}) satisfies z.ZodType<PolicyPatch>;

export const PolicyUpdated = StoredPolicy.extend({ updatedAt: Timestamp }).meta({ id: "PolicyUpdated" });

const Count = z.number().int().min(0);

export const TradingTerms = z
  .object({ policy: PolicySchema, kycRequired: z.boolean() })
  .meta({ id: "TradingTerms", description: "The rules under which users trade." });

const RuleImpact = z
  .object({
    rule: z.enum(["maxTradeUsd", "maxUserExposureUsd", "jurisdictions", "suitability", "kyc"]),
    refused: z
      .object({ trades: Count, usd: z.number() })
      .describe("Executed trades that the new rules would have rejected."),
    admittedUsers: Count.nullable().describe(
      "Users whom the old rule stops from trading and the new rule does not; null if the records do not show it.",
    ),
    note: z.string(),
  })
  .meta({ id: "RuleImpact" });

export const PolicyImpact = z
  .object({
    days: Count,
    examined: Count.describe("The number of trades examined."),
    complete: z.boolean().describe("Whether every trade of the period was examined."),
    rules: z.array(RuleImpact),
  })
  .meta({ id: "PolicyImpact" });

const { operatorRead, operatorChange } = operationsUnder("operations");

export const policyOperations = {
  getPolicy: operatorRead({
    path: "/v1/policy",
    summary: "Get the policy in force.",
    output: StoredPolicy,
    tagged: true,
  }),
  updatePolicy: operatorChange("config", {
    method: "PUT",
    path: "/v1/policy",
    summary: "Change some policy fields.",
    input: PolicyPatchSchema,
    output: orProposal(PolicyUpdated),
    refusals: ["PRECONDITION_FAILED", "PROPOSAL_PENDING"],
    tagged: true,
    temporary: true,
  }),
};
