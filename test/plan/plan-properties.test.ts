import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { POLICY_FIELDS } from "../../src/domain/policy/fields.ts";
import { DEFAULT_POLICY, mergePolicy, type PolicyPatch, policyPatchOf } from "../../src/domain/policy/policy.ts";
import { directionOf, policyValue } from "../../src/domain/policy/values.ts";
import { requireEligible } from "../../src/domain/trader.ts";
import { refusalsOf } from "../../src/plan/plan-decision.ts";
import { runs } from "../domain/random.ts";
import { type Files, PlannedTenant, refusalOf } from "./plan-world.ts";

const code = fc.constantFrom("US", "US-NY", "US-CA", "CH", "DE", "GB");
const codes = fc.uniqueArray(code, { maxLength: 4 });
const usd = fc.constantFrom(0.000001, 5, 50, 500, 5000);
const tiers = fc
  .tuple(
    fc.uniqueArray(fc.integer({ min: 1, max: 20 }), { maxLength: 3 }),
    fc.array(fc.option(usd), { minLength: 4, maxLength: 4 }),
  )
  .map(([scores, caps]) =>
    [0, ...scores.toSorted((a, b) => a - b)].map((minScore, index) => ({ minScore, capUsd: caps[index] ?? null })),
  );
const policy: fc.Arbitrary<PolicyPatch> = fc.record(
  {
    feeBps: fc.constantFrom(0, 100, 250),
    maxTradeUsd: usd,
    maxUserExposureUsd: usd,
    suitabilityRequired: fc.boolean(),
    jurisdictions: fc.record({ allowed: codes, blocked: codes }, { requiredKeys: [] }),
    suitabilityThresholds: fc.record({ blockBelow: fc.constant(0), tiers }, { requiredKeys: ["tiers"] }),
    resolution_url: fc.constantFrom("https://oracle.example/x", null),
  },
  { requiredKeys: [] },
);
const market = fc.record({
  key: fc.constantFrom("a", "b", "c"),
  state: fc.constantFrom("open" as const, "suspended" as const),
});
const files: fc.Arbitrary<Files> = fc
  .record({
    policy,
    kyc: fc.boolean(),
    liquidity: fc.constantFrom(10, 20),
    capital: fc.constantFrom(1000, 2000),
    markets: fc.uniqueArray(market, { selector: ({ key }) => key, maxLength: 3 }),
    // No two keys of a file have one value: reading the secrets refuses that.
    keys: fc
      .dictionary(fc.constantFrom("ops", "web"), fc.constantFrom("k1", "k2", "k3"))
      .filter((keys) => new Set(Object.values(keys)).size === Object.keys(keys).length),
  })
  .map(({ policy, kyc, liquidity, capital, markets, keys }) => ({
    sections: {
      policy: JSON.stringify(policy),
      kyc: `{ required: ${kyc} }`,
      markets: `{ liquidityUsd: ${liquidity} }`,
      treasury: `{ capitalUsd: ${capital} }`,
    },
    markets,
    keys,
  }));
const eachPlan = runs(100);
const accept = { onDrift: "overwrite", acceptLoosening: true } as const;

describe("a plan", () => {
  test("is empty after its apply, whatever was live, whatever was decided, and applying again changes nothing", () => {
    fc.assert(
      fc.property(
        files,
        policy,
        files,
        fc.constantFrom("adopt" as const, "overwrite" as const),
        (first, live, second, onDrift) => {
          const tenant = new PlannedTenant();
          tenant.apply(first);
          tenant.put(live);
          tenant.apply(second, { onDrift, acceptLoosening: true });
          expect(tenant.plan(second)).toMatchObject({ empty: true, settings: [] });
          const before = tenant.live().document;
          tenant.apply(second);
          expect(tenant.live().document).toEqual(before);
        },
      ),
      eachPlan,
    );
  });

  test("does not see the order of keys, the order in sets, or defaults that are stated", () => {
    fc.assert(
      fc.property(files, (given) => {
        const tenant = new PlannedTenant();
        tenant.apply(given);
        const { sections = {}, markets = [] } = given;
        const stated = reversed(JSON.parse(sections.policy ?? "{}"));
        const rewritten: Files = {
          ...given,
          sections: {
            ...Object.fromEntries(Object.entries(sections).reverse()),
            policy: JSON.stringify(stated),
            server: "{ trustProxy: [], port: 8080 }",
            embed: "{ allowedOrigins: [] }",
          },
          markets: markets.toReversed(),
        };
        const plan = tenant.plan(rewritten);
        expect(plan).toMatchObject({ empty: true, items: [], settings: [] });
        const before = tenant.live().document;
        tenant.apply(rewritten);
        expect(tenant.live().document).toEqual(before);
      }),
      eachPlan,
    );
  });

  test("never writes what was decided against: adopting leaves every live policy value that drifted", () => {
    fc.assert(
      fc.property(files, policy, (given, live) => {
        const tenant = new PlannedTenant();
        tenant.apply(given);
        tenant.put(live);
        const before = tenant.policy();
        tenant.apply(given, { onDrift: "adopt" });
        expect(tenant.policy()).toEqual(before);
      }),
      eachPlan,
    );
  });

  test("never loosens without being told so: no field of the policy moves up by an unattended apply", () => {
    fc.assert(
      fc.property(files, policy, files, (first, live, second) => {
        const tenant = new PlannedTenant();
        tenant.apply(first);
        tenant.put(live);
        const before = tenant.policy();
        refusalOf(() => tenant.apply(second, { onDrift: "overwrite" }));
        const after = tenant.policy();
        for (const field of POLICY_FIELDS) {
          const [from, to] = [policyValue(before, field), policyValue(after, field)];
          if (from === undefined || to === undefined || JSON.stringify(from) === JSON.stringify(to)) continue;
          expect(directionOf(field, from, to)).not.toBe("loosens");
        }
      }),
      eachPlan,
    );
  });

  test("names a refusal exactly where an apply with the same flags is refused", () => {
    const choice = fc.record({
      onDrift: fc.constantFrom("fail" as const, "adopt" as const, "overwrite" as const),
      acceptLoosening: fc.boolean(),
    });
    fc.assert(
      fc.property(files, policy, files, choice, (first, live, second, choices) => {
        const tenant = new PlannedTenant();
        tenant.apply(first);
        tenant.put(live);
        const refusals = refusalsOf(tenant.plan(second), choices);
        const refused = refusalOf(() => tenant.apply(second, choices));
        expect(refusals.length > 0).toBe(refused !== "");
        // An apply reports one kind of refusal at a time.
        if (refusals[0]) expect(refused).toContain(`${refusals[0].field}: `);
      }),
      eachPlan,
    );
  });

  test("that was overwritten leaves every stated field as the file has it", () => {
    fc.assert(
      fc.property(files, policy, (given, live) => {
        const tenant = new PlannedTenant();
        tenant.apply(given);
        tenant.put(live);
        tenant.apply(given, accept);
        const stated = JSON.parse(given.sections?.policy ?? "{}") as PolicyPatch;
        for (const field of POLICY_FIELDS.filter((each) => each !== "suitabilityThresholds")) {
          const value = policyValue(stated, field);
          if (value !== undefined) expect(policyValue(tenant.policy(), field)).toEqual(value);
        }
      }),
      eachPlan,
    );
  });
});

test("a change of jurisdictions that admits anybody new loosens", () => {
  const person = fc.constantFrom("US", "US-NY", "US-CA", "CH", "DE", "GB", "FR");
  const lists = fc.constantFrom("jurisdictions.allowed" as const, "jurisdictions.blocked" as const);
  const mayTrade = (jurisdiction: string, field: (typeof POLICY_FIELDS)[number], list: string[]) => {
    const policy = mergePolicy(DEFAULT_POLICY, policyPatchOf([[field, list]]));
    const trader = { kyc: "verified", restricted: false, jurisdiction, suitabilityScore: null } as const;
    return refused(() => requireEligible(trader, policy, { kycRequired: true, claimed: undefined }));
  };
  fc.assert(
    fc.property(lists, codes, codes, person, (field, from, to, jurisdiction) => {
      const admitted = mayTrade(jurisdiction, field, from) && !mayTrade(jurisdiction, field, to);
      if (admitted) expect(directionOf(field, from, to)).toBe("loosens");
    }),
    runs(1000),
  );
});

function refused(act: () => void): boolean {
  try {
    act();
    return false;
  } catch {
    return true;
  }
}

/** The same value with the keys of every mapping and the codes of every set the other way round. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value))
    return value.every((each) => typeof each === "string") ? value.toReversed() : value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, each]) => [name, reversed(each)]),
  );
}
