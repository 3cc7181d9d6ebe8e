import { describe, expect, test } from "vitest";
import { covers } from "../../src/domain/policy/covers.ts";
import { DEFAULT_POLICY, type Policy } from "../../src/domain/policy/policy.ts";
import { exposureCap, requireEligible, suitabilityCapMicro, type TraderStanding } from "../../src/domain/trader.ts";

const GOOD: TraderStanding = { kyc: "verified", restricted: false, jurisdiction: "AE", suitabilityScore: 12 };
const STRICT: Policy = {
  ...DEFAULT_POLICY,
  jurisdictions: { allowed: ["AE"], blocked: ["US"] },
  suitabilityRequired: true,
  suitabilityThresholds: { ...DEFAULT_POLICY.suitabilityThresholds, blockBelow: 4 },
};

function refusal(
  trader: Partial<TraderStanding>,
  policy: Policy = STRICT,
  claimed?: string,
  kycRequired = true,
): string {
  try {
    requireEligible({ ...GOOD, ...trader }, policy, { kycRequired, claimed });
    return "may trade";
  } catch (fault) {
    return (fault as { code: string }).code;
  }
}

describe("KYC", () => {
  test.each(["unverified", "rejected"] as const)("%s may not trade", (kyc) => {
    expect(refusal({ kyc })).toBe("KYC_REQUIRED");
  });
  test("a tenant without KYC lets anybody trade, even after a failed check", () => {
    expect(refusal({ kyc: "rejected" }, STRICT, undefined, false)).toBe("may trade");
  });
});

describe("jurisdiction", () => {
  const lists = (allowed: string[], blocked: string[]): Policy => ({ ...STRICT, jurisdictions: { allowed, blocked } });

  test.each<[string, string[], string[], string | null, string]>([
    ["no lists: an unknown place is fine", [], [], null, "may trade"],
    ["an unknown place is refused once there is an allowed list", ["AE"], [], null, "JURISDICTION_UNKNOWN"],
    ["an unknown place is refused once there is a blocked list", [], ["US"], null, "JURISDICTION_UNKNOWN"],
    ["a place on no list passes when only a blocked list exists", [], ["US"], "AE", "may trade"],
    ["a place outside the allowed list is refused", ["AE"], [], "FR", "JURISDICTION_BLOCKED"],
    ["blocked wins over allowed", ["US"], ["US"], "US", "JURISDICTION_BLOCKED"],
    ["a blocked country blocks its states", [], ["US"], "US-NY", "JURISDICTION_BLOCKED"],
    ["an allowed country allows its states", ["US"], [], "US-CA", "may trade"],
    ["a blocked state leaves the country alone", ["US"], ["US-NY"], "US", "may trade"],
    ["a blocked state is refused within an allowed country", ["US"], ["US-NY"], "US-NY", "JURISDICTION_BLOCKED"],
    ["an allowed state does not allow the country", ["US-CA"], [], "US", "JURISDICTION_BLOCKED"],
    ["lists may be written in any case", ["ae"], [], "AE", "may trade"],
    ["another spelling of a blocked country is that country", [], ["GB"], "UK", "JURISDICTION_BLOCKED"],
    ["and so is its longer code", [], ["GB"], "GBR", "JURISDICTION_BLOCKED"],
    ["a list of before may have the other spelling", [], ["UK"], "GB", "JURISDICTION_BLOCKED"],
    ["a code of no country is an unknown place", [], ["US"], "XX", "JURISDICTION_UNKNOWN"],
    ["a retired code of several countries is one too", [], ["US"], "SU", "JURISDICTION_UNKNOWN"],
    ["and so is a state that a country does not have", [], ["US-NY"], "US-ZZ", "JURISDICTION_UNKNOWN"],
    ["where nothing is listed a code of no country is fine", [], [], "XX", "may trade"],
  ])("%s", (_what, allowed, blocked, jurisdiction, expected) => {
    expect(refusal({ jurisdiction }, lists(allowed, blocked))).toBe(expected);
  });

  test("the token's claim counts only when the KYC event named none, in any case", () => {
    expect(refusal({ jurisdiction: null }, STRICT, "ae")).toBe("may trade");
    expect(refusal({ jurisdiction: null }, STRICT, "us-ny")).toBe("JURISDICTION_BLOCKED");
    expect(refusal({ jurisdiction: "US" }, STRICT, "AE")).toBe("JURISDICTION_BLOCKED");
    expect(refusal({ jurisdiction: "ZZ" }, STRICT, "AE")).toBe("JURISDICTION_UNKNOWN");
    expect(refusal({ jurisdiction: null }, STRICT, "usa")).toBe("JURISDICTION_BLOCKED");
  });

  test("a country is not covered by one that merely starts alike", () => {
    expect(covers("US", "USA")).toBe(false);
    expect(covers("US", "US-NY")).toBe(true);
  });
});

describe("suitability", () => {
  test("required and missing is refused; not required and missing passes", () => {
    expect(refusal({ suitabilityScore: null })).toBe("SUITABILITY_REQUIRED");
    expect(refusal({ suitabilityScore: null }, { ...STRICT, suitabilityRequired: false })).toBe("may trade");
  });
  test("a score below blockBelow is refused even where no assessment is required; the bound itself passes", () => {
    expect(refusal({ suitabilityScore: 3 }, { ...STRICT, suitabilityRequired: false })).toBe("SUITABILITY_REQUIRED");
    expect(refusal({ suitabilityScore: 4 })).toBe("may trade");
  });
});

describe("the exposure cap", () => {
  const standing = (suitabilityScore: number | null): TraderStanding => ({ ...GOOD, suitabilityScore });

  test.each([
    [0, 500],
    [8, 500],
    [9, 2500],
    [14, 2500],
    [15, null],
    [20, null],
  ])("a score of %d has the cap of its tier: %s USD", (score, capUsd) => {
    const cap = suitabilityCapMicro(score, DEFAULT_POLICY.suitabilityThresholds);
    expect(cap).toBe(capUsd === null ? null : BigInt(capUsd) * 1_000_000n);
  });

  test("the lower of the tenant's limit and the tier's cap counts; no score means the limit alone", () => {
    expect(exposureCap(standing(9), DEFAULT_POLICY)).toMatchObject({ capMicro: 2_500_000_000n });
    expect(exposureCap(standing(9), { ...DEFAULT_POLICY, maxUserExposureUsd: 100 })).toMatchObject({
      capMicro: 100_000_000n,
    });
    expect(exposureCap(standing(20), DEFAULT_POLICY)).toMatchObject({ capMicro: 10_000_000_000n });
    expect(exposureCap(standing(null), DEFAULT_POLICY)).toMatchObject({ capMicro: 10_000_000_000n });
  });

  test("a cap with more than six decimals still caps: a limit that cannot be read must not mean no limit", () => {
    const thresholds = { blockBelow: 0, tiers: [{ minScore: 0, capUsd: 500.0000001 }] };
    expect(suitabilityCapMicro(5, thresholds)).toBe(500_000_000n);
  });
});
