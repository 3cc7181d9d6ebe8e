import { describe, expect, test } from "vitest";
import { policyPatch } from "../../src/cli/config/policy-assignments.ts";

describe("policy set", () => {
  test.each<[string[], unknown]>([
    [["feeBps=120"], { feeBps: 120 }],
    [["maxTradeUsd=12.50", "suitabilityRequired=true"], { maxTradeUsd: 12.5, suitabilityRequired: true }],
    [["jurisdictions.blocked=US,NO, cu"], { jurisdictions: { blocked: ["US", "NO", "CU"] } }],
    [["jurisdictions.blocked="], { jurisdictions: { blocked: [] } }],
    [
      ['jurisdictions.allowed=["DE"]', "jurisdictions.blocked=US"],
      { jurisdictions: { allowed: ["DE"], blocked: ["US"] } },
    ],
    [["suitabilityThresholds.blockBelow=3"], { suitabilityThresholds: { blockBelow: 3 } }],
    [
      ['suitabilityThresholds.tiers=[{"minScore":0,"capUsd":null}]'],
      { suitabilityThresholds: { tiers: [{ minScore: 0, capUsd: null }] } },
    ],
    [["resolution_url=https://oracle.example/x?a=b"], { resolution_url: "https://oracle.example/x?a=b" }],
    [["resolution_url=null"], { resolution_url: null }],
  ])("%j is read by the field's type", (assignments, patch) => {
    expect(policyPatch(assignments)).toEqual(patch);
  });

  test.each<[string[], string]>([
    [["feeBps"], "must be KEY=VALUE"],
    [["=3"], "must be KEY=VALUE"],
    [["feebps=3"], "did you mean feeBps?"],
    [["jurisdictions.blokced=US"], "did you mean jurisdictions.blocked?"],
    [["feeBps.x=3"], "feeBps has no fields of its own"],
    [["__proto__.x=3"], "There is no policy field"],
    [["constructor=3"], "There is no policy field"],
    [["feeBps=3%"], "feeBps must be a number"],
    [["feeBps=2000"], "feeBps: "],
    [["feeBps=1", "feeBps=2"], "stated twice"],
    [["suitabilityRequired=yes"], "must be true or false"],
    [["jurisdictions.blocked=Norway"], "ISO 3166"],
    [["jurisdictions.blocked=US,uk"], "UK is not a code; GB?"],
    [["jurisdictions.allowed=XX"], "XX is not a code of ISO 3166"],
    [['jurisdictions={"blokced":[]}'], "jurisdictions"],
    [["suitabilityThresholds={"], "JSON object"],
  ])("%j is refused with a sentence that helps", (assignments, text) => {
    expect(() => policyPatch(assignments)).toThrow(text);
  });
});
