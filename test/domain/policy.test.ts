import { describe, expect, test } from "vitest";
import { DEFAULT_POLICY, mergePolicy, type Policy, storedPolicy } from "../../src/domain/policy/policy.ts";
import { tierProblems, unreachableTiers } from "../../src/domain/policy/suitability.ts";

const POLICY: Policy = {
  ...DEFAULT_POLICY,
  jurisdictions: { allowed: ["AE", "US"], blocked: ["US-NY"] },
  resolution_url: "https://oracle.example/resolve",
};

describe("storedPolicy", () => {
  test("a field that did not exist when the policy was stored has its default; the others stay as they were stored", () => {
    const { maxUserExposureUsd: _, ...older } = POLICY;
    expect(storedPolicy(older)).toEqual({ ...POLICY, maxUserExposureUsd: DEFAULT_POLICY.maxUserExposureUsd });
  });
});

describe("mergePolicy", () => {
  test("a field that is not named keeps its value", () => {
    expect(mergePolicy(POLICY, { feeBps: 25 })).toEqual({ ...POLICY, feeBps: 25 });
    expect(mergePolicy(POLICY, {})).toEqual(POLICY);
  });

  test("a field that is undefined counts as not named", () => {
    expect(mergePolicy(POLICY, { feeBps: undefined, jurisdictions: undefined })).toEqual(POLICY);
    expect(mergePolicy(POLICY, { jurisdictions: { allowed: undefined } })).toEqual(POLICY);
  });

  test("objects merge: a new blocked list keeps the allowed one", () => {
    const merged = mergePolicy(POLICY, { jurisdictions: { blocked: ["IR"] } });
    expect(merged.jurisdictions).toEqual({ allowed: ["AE", "US"], blocked: ["IR"] });
  });

  test("arrays are replaced whole, by an empty one too", () => {
    expect(mergePolicy(POLICY, { jurisdictions: { allowed: [] } }).jurisdictions.allowed).toEqual([]);
    const tiers = [{ minScore: 0, capUsd: 10 }];
    const merged = mergePolicy(POLICY, { suitabilityThresholds: { tiers } });
    expect(merged.suitabilityThresholds).toEqual({ blockBelow: 0, tiers });
  });

  test("zero and false are values, not absence", () => {
    const merged = mergePolicy({ ...POLICY, suitabilityRequired: true }, { feeBps: 0, suitabilityRequired: false });
    expect([merged.feeBps, merged.suitabilityRequired]).toEqual([0, false]);
  });

  test.each([null, ""])("resolution_url is cleared by %j", (value) => {
    expect(mergePolicy(POLICY, { resolution_url: value }).resolution_url).toBeNull();
  });

  test("neither the policy nor the patch is changed", () => {
    const patch = Object.freeze({ jurisdictions: Object.freeze({ blocked: ["IR"] }) });
    const before = structuredClone(POLICY);
    mergePolicy(POLICY, patch);
    expect(POLICY).toEqual(before);
  });
});

describe("suitability tiers", () => {
  const tiersFrom = (...scores: number[]) => scores.map((minScore) => ({ minScore, capUsd: null }));
  const places = (problems: { path: (string | number)[] }[]) => problems.map(({ path }) => path.join("."));
  const problems = (...scores: number[]) => places(tierProblems(tiersFrom(...scores)));
  const unreachable = (blockBelow: number, ...scores: number[]) =>
    places(unreachableTiers({ blockBelow, tiers: tiersFrom(...scores) }));

  test("the default thresholds are fine", () => {
    expect(tierProblems(DEFAULT_POLICY.suitabilityThresholds.tiers)).toEqual([]);
    expect(unreachableTiers(DEFAULT_POLICY.suitabilityThresholds)).toEqual([]);
  });

  test("the first tier must start at 0", () => {
    expect(problems(1, 5)).toEqual(["tiers.0.minScore"]);
  });

  test("tiers must ascend, and equal is not ascending", () => {
    expect(problems(0, 9, 9)).toEqual(["tiers.2.minScore"]);
    expect(problems(0, 9, 5)).toEqual(["tiers.2.minScore"]);
  });

  test("a tier whose every score is blocked is reported, one with its last score free is not", () => {
    expect(unreachable(9, 0, 9)).toEqual(["tiers.0.minScore"]);
    expect(unreachable(8, 0, 9)).toEqual([]);
  });
});
