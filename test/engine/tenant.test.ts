import { describe, expect, test } from "vitest";
import type { Scope } from "../../src/domain/access/scopes.ts";
import { DEFAULT_POLICY } from "../../src/domain/policy/policy.ts";
import { SINGLE } from "../../src/engine/rows.ts";
import { configOf, marketOf, NOW, openWorld, usd, World } from "./world.ts";

const tenantOf = (world: World) => {
  const tenant = world.get("tenant", SINGLE);
  if (!tenant) throw new Error("The tenant has not been applied yet");
  return tenant;
};

function applied(change: Parameters<typeof configOf>[0] = {}): World {
  const world = new World();
  world.run(configOf(change));
  return world;
}

const key = (name: string, expiresAt: number | null = null) => ({
  hash: name.repeat(64).slice(0, 64),
  name,
  type: "admin" as const,
  expiresAt,
});

describe("applyConfig", () => {
  test("the first one sets policy and settings and funds the treasury from outside", () => {
    const world = applied({ kycRequired: true });
    expect(tenantOf(world)).toMatchObject({ policy: DEFAULT_POLICY, kycRequired: true, liquidityMicro: usd(1000) });
    expect(world.balance("treasury")).toBe(usd(100_000));
    expect(world.balance("external:capital")).toBe(-usd(100_000));
  });

  test("the entry names the changed rules of who must agree, and how long ends wait", () => {
    const ruled = (rules: object) => configOf({ document: JSON.stringify(rules) });
    const world = new World();
    const said = (rules: object) => world.run(ruled(rules)).draft.audit.at(-1)?.payload;
    const key = { approvals: 2 };
    expect(said({ resolution: { holdHours: 2 }, approvals: { key } })).toMatchObject({
      rules: { "resolution.holdHours": { from: 0, to: 2 }, "approvals.key": { from: null, to: key } },
    });
    expect(said({ approvals: { key } })).toMatchObject({ rules: { "resolution.holdHours": { from: 2, to: 0 } } });
    expect(said({ approvals: { key }, n: 1 })).toMatchObject({ rules: undefined });
  });

  test("a repeated apply of the same document changes nothing and records nothing", () => {
    const world = applied({ keys: [key("a")] });
    world.now += 1000;
    const { result, draft } = world.decide(configOf({ keys: [key("a")] }));
    expect(result).toEqual({ changed: false });
    expect([...draft.writes(), ...draft.audit, ...draft.transfers]).toEqual([]);
  });

  test("more capital moves only the difference, less moves nothing and is remembered as given", () => {
    const world = applied();
    const raise = world.run(configOf({ capitalMicro: usd(150_000), document: "{}" }));
    expect(raise.draft.transfers).toEqual([
      { debit: "external:capital", credit: "treasury", amountMicro: usd(50_000), entry: 0 },
    ]);
    expect(world.run(configOf({ capitalMicro: usd(1), document: '{"a":1}' })).draft.transfers).toEqual([]);
    expect(world.run(configOf({ capitalMicro: usd(150_000), document: '{"a":2}' })).draft.transfers).toEqual([]);
    expect(world.balance("treasury")).toBe(usd(150_000));
  });

  test("capital that markets have taken out of the treasury is not put in twice", () => {
    const world = openWorld();
    world.run(configOf({ policy: tenantOf(world).policy, document: '{"other":true}' }));
    expect(world.balance("external:capital")).toBe(-usd(100_000));
  });

  test("only a changed policy counts as a policy update", () => {
    const world = applied();
    world.now += 1000;
    world.run(configOf({ liquidityMicro: usd(2000), document: JSON.stringify({ policy: DEFAULT_POLICY, n: 1 }) }));
    expect(tenantOf(world).policyUpdatedAt).toBe(NOW);
    const policy = { ...DEFAULT_POLICY, feeBps: 7 };
    const { draft } = world.run(configOf({ policy, document: JSON.stringify({ policy }) }));
    expect(tenantOf(world)).toMatchObject({ policyUpdatedAt: world.now, policy: { feeBps: 7 } });
    expect(draft.audit.at(-1)?.payload.policy).toEqual({ feeBps: { from: 100, to: 7 } });
  });

  test("keys that are listed are created, those named for it are revoked at once, and others are left alone", () => {
    const world = applied({ keys: [key("a"), key("b")] });
    world.now += 1000;
    const { draft } = world.run(
      configOf({ keys: [key("c")], revoke: [{ name: "a", hash: key("a").hash }], document: "{}" }),
    );
    const ring = new Map(world.get("keyring", SINGLE)?.map((each) => [each.name, each]));
    expect(ring.get("a")?.expiresAt).toBe(world.now);
    expect(ring.get("b")?.expiresAt).toBeNull();
    expect(ring.get("c")).toMatchObject({ createdAt: world.now, expiresAt: null });
    expect(draft.audit.map(({ type, payload }) => [type, payload.name]).slice(0, 2)).toEqual([
      ["key.revoked", "a"],
      ["key.created", "c"],
    ]);
  });

  test("a revoked key keeps the moment of its revocation", () => {
    const world = applied({ keys: [key("a")] });
    world.now += 1000;
    const revoke = [{ name: "a", hash: key("a").hash.slice(0, 8) }];
    world.run(configOf({ revoke, document: "{}" }));
    const revokedAt = world.now;
    world.now += 1000;
    world.run(configOf({ revoke, document: '{"later":true}' }));
    expect(world.get("keyring", SINGLE)?.[0]?.expiresAt).toBe(revokedAt);
  });

  test("a key whose name was taken live meanwhile is not created beside it", () => {
    const world = applied({ keys: [key("a")] });
    expect(world.refusal(configOf({ keys: [{ ...key("b"), name: "a" }] }))).toBe("REFUSED");
  });

  test("a plan that was made on another version of the tenant is refused", () => {
    const world = new World();
    expect(world.refusal(configOf({ ifVersion: 1 }))).toBe("REFUSED");
    world.run(configOf({ ifVersion: 0 }));
    const tenant = tenantOf(world);
    world.put("tenant", SINGLE, { ...tenant, version: 7 });
    expect(world.refusal(configOf({ ifVersion: 6, document: "{}" }))).toBe("REFUSED");
    expect(world.refusal(configOf({ ifVersion: 7, document: "{}" }))).toBe("accepted");
  });

  const declared = { ...marketOf(), fileKey: "rain", liquidityMicro: usd(500), state: "suspended" as const };

  test("markets of the document are created in the same commit, funded by the capital that it brings", () => {
    const world = new World();
    const { draft } = world.run(configOf({ capitalMicro: usd(500), markets: [declared] }));
    expect(world.get("market", "m1")).toMatchObject({ fileKey: "rain", fundMicro: usd(500) });
    expect(world.get("marketState", "m1")?.status).toBe("suspended");
    expect(world.balance("treasury")).toBe(0n);
    expect(draft.audit.map(({ type }) => type)).toEqual(["market.created", "market.suspended", "config.applied"]);
    expect(new World().refusal(configOf({ capitalMicro: usd(499), markets: [declared] }))).toBe(
      "TREASURY_INSUFFICIENT",
    );
  });

  test("a market's state is changed only from the state that the plan saw", () => {
    const world = new World();
    world.run(configOf({ markets: [declared] }));
    const resume = { marketId: "m1", from: "suspended", to: "open" } as const;
    world.run(configOf({ marketStates: [resume], document: "{}" }));
    expect(world.get("marketState", "m1")?.status).toBe("open");
    expect(world.refusal(configOf({ marketStates: [resume], document: '{"n":1}' }))).toBe("REFUSED");
  });
});

describe("updatePolicy", () => {
  test("changes the named fields, and the record says from what to what", () => {
    const world = openWorld();
    world.now += 5;
    const { result, draft } = world.run({
      type: "updatePolicy",
      patch: { maxTradeUsd: 5, jurisdictions: { blocked: ["IR"] } },
    });
    expect(result.policy).toMatchObject({ maxTradeUsd: 5, feeBps: 0, jurisdictions: { allowed: [], blocked: ["IR"] } });
    expect(result.updatedAt).toBe(world.now);
    expect(draft.audit).toEqual([
      {
        type: "policy.updated",
        payload: {
          changes: {
            maxTradeUsd: { from: 1_000_000, to: 5 },
            jurisdictions: { from: { allowed: [], blocked: [] }, to: { allowed: [], blocked: ["IR"] } },
          },
          state: expect.objectContaining({ policy: result.policy }),
        },
      },
    ]);
  });

  test("a patch that changes nothing leaves no trace and keeps the time of the last change", () => {
    const world = openWorld();
    const updatedAt = tenantOf(world).policyUpdatedAt;
    world.now += 1000;
    const { result, draft } = world.decide({ type: "updatePolicy", patch: { feeBps: 0, resolution_url: "" } });
    expect(result.updatedAt).toBe(updatedAt);
    expect([...draft.writes(), ...draft.audit]).toEqual([]);
  });

  test("thresholds are judged as merged: tiers with a gap are refused, tiers that blockBelow covers are not", () => {
    const world = openWorld();
    const change = (suitabilityThresholds: object) =>
      ({ type: "updatePolicy", patch: { suitabilityThresholds } }) as const;
    const from = (...scores: number[]) => ({ tiers: scores.map((minScore) => ({ minScore, capUsd: 1 })) });
    world.run(change({ blockBelow: 5 }));
    expect(world.refusal(change(from(1, 5)))).toBe("BAD_REQUEST");
    world.run(change(from(0, 5)));
    expect(tenantOf(world).policy.suitabilityThresholds).toEqual({ blockBelow: 5, ...from(0, 5) });
  });

  test("a tenant that was never applied has no policy to change", () => {
    expect(new World().refusal({ type: "updatePolicy", patch: { feeBps: 1 } })).toBe("REFUSED");
  });
});

test("a reconciliation goes on record with what it found, and moves nothing", () => {
  const { result, draft } = openWorld().decide({
    type: "recordReconciliation",
    ok: false,
    discrepancyMicro: 1_500_000n,
  });
  expect(result).toEqual({ checkedAt: NOW });
  expect([...draft.writes()]).toEqual([]);
  expect(draft.audit).toEqual([{ type: "reconcile.run", payload: { ok: false, discrepancy: "1.5" } }]);
});

test("an apply that ends identity verification asks for the scope of users beside its own", () => {
  const world = new World();
  world.run(configOf({ kycRequired: true }));
  const ends = (heldScopes: Scope[]) => world.refusal(configOf({ kycRequired: false, heldScopes }));
  expect(ends(["config"])).toBe("SCOPE_REQUIRED");
  expect(ends(["config", "users"])).toBe("accepted");
  world.run(configOf({ kycRequired: false }));
  expect(world.refusal(configOf({ kycRequired: false, heldScopes: ["config"] }))).toBe("accepted");
});

test("the end of the review of identity checks asks for the scope of users, by the policy and by an apply", () => {
  const world = new World();
  world.run(configOf());
  const put = (heldScopes: Scope[], kycReview = false) =>
    world.refusal({ type: "updatePolicy", patch: { kycReview }, heldScopes });
  const apply = (heldScopes: Scope[]) => world.refusal(configOf({ policy: { kycReview: false }, heldScopes }));
  expect([put(["config"]), apply(["config"])]).toEqual(["SCOPE_REQUIRED", "SCOPE_REQUIRED"]);
  expect([put(["config"], true), put(["config", "users"]), apply(["config", "users"])]).toEqual(
    Array(3).fill("accepted"),
  );
});
