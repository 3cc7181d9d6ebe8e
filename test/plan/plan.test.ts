import { describe, expect, test } from "vitest";
import type { Scope } from "../../src/domain/access/scopes.ts";
import { SINGLE } from "../../src/engine/rows.ts";
import { desiredOf, type Files, PlannedTenant, refusalOf, summary } from "./plan-world.ts";

const policy = (text: string) => ({ sections: { policy: text } });

describe("three ways", () => {
  test("the first apply writes everything, loosens nothing, and the plan after it is empty", () => {
    const tenant = new PlannedTenant();
    const files = { ...policy("{ maxTradeUsd: 900 }"), markets: [{}] };
    const plan = tenant.apply(files);
    expect(plan.empty).toBe(false);
    expect(summary(plan)).toContain("policy.maxTradeUsd change neutral");
    expect(tenant.policy().maxTradeUsd).toBe(900);
    expect(tenant.plan(files)).toMatchObject({ empty: true, items: [], settings: [], warnings: [] });
  });

  test("a changed file is a change, a changed live value is drift, both are a conflict, neither is nothing", () => {
    const tenant = new PlannedTenant();
    tenant.apply(policy("{ maxTradeUsd: 500, feeBps: 100, maxUserExposureUsd: 9000, suitabilityRequired: true }"));
    tenant.put({ feeBps: 50, maxUserExposureUsd: 8000 });
    const plan = tenant.plan(
      policy("{ maxTradeUsd: 400, feeBps: 100, maxUserExposureUsd: 7000, suitabilityRequired: true }"),
    );
    expect(summary(plan)).toEqual([
      "policy.feeBps drift neutral",
      "policy.maxTradeUsd change tightens",
      "policy.maxUserExposureUsd conflict tightens",
    ]);
    expect(plan.items[2]).toMatchObject({ base: 9000, desired: 7000, live: 8000 });
  });

  test("a longer time for corrections loosens, since it makes settlements that were final correctable again", () => {
    const tenant = new PlannedTenant();
    const within = (hours: number) => ({ sections: { resolution: `{ correctionHours: ${hours} }` } });
    tenant.apply(within(2));
    expect(summary(tenant.plan(within(3)))).toEqual(["resolution.correctionHours change loosens"]);
    expect(summary(tenant.plan(within(0)))).toEqual(["resolution.correctionHours change tightens"]);
  });

  test("a file and a live value that agree are no conflict, whatever was applied before", () => {
    const tenant = new PlannedTenant();
    tenant.apply(policy("{ maxTradeUsd: 500 }"));
    tenant.put({ maxTradeUsd: 300 });
    expect(tenant.plan(policy("{ maxTradeUsd: 300 }")).items).toEqual([]);
  });

  test("what the file does not state is not managed and not touched", () => {
    const tenant = new PlannedTenant();
    tenant.apply(policy("{ maxTradeUsd: 500 }"));
    tenant.put({ feeBps: 50, maxTradeUsd: 300 });
    tenant.apply(policy("{}"));
    expect(tenant.policy()).toMatchObject({ feeBps: 50, maxTradeUsd: 300 });
  });

  test("thresholds that are stated in part are compared in that part", () => {
    const tenant = new PlannedTenant();
    const files = policy("{ suitabilityThresholds: { blockBelow: 3 } }");
    tenant.apply(files);
    tenant.put({ suitabilityThresholds: { tiers: [{ minScore: 0, capUsd: 10 }] } });
    expect(tenant.plan(files).items).toEqual([]);
    tenant.put({ suitabilityThresholds: { blockBelow: 2 } });
    expect(summary(tenant.plan(files))).toEqual(["policy.suitabilityThresholds drift tightens"]);
  });

  test("settings without a live counterpart are named, and recorded by the next apply", () => {
    const tenant = new PlannedTenant();
    tenant.apply({});
    const files = { sections: { rateLimit: "{ perMinute: 90 }", cors: "{ origins: ['https://a.example'] }" } };
    expect(tenant.plan(files)).toMatchObject({
      empty: false,
      items: [],
      settings: ["cors.origins", "rateLimit.perMinute"],
    });
    tenant.apply(files);
    expect(tenant.plan(files).empty).toBe(true);
  });

  test("capital only rises: less is a warning and no change", () => {
    const tenant = new PlannedTenant();
    tenant.apply({ sections: { treasury: "{ capitalUsd: 5000 }" } });
    expect(summary(tenant.plan({ sections: { treasury: "{ capitalUsd: 6000 }" } }))).toEqual([
      "treasury.capitalUsd change neutral",
    ]);
    const less = tenant.plan({ sections: { treasury: "{ capitalUsd: 10 }" } });
    expect(less.items).toEqual([]);
    expect(less.warnings).toEqual([expect.stringContaining("only rises")]);
  });

  test("an override is shown with its end and is no drift", () => {
    const tenant = new PlannedTenant();
    tenant.apply(policy("{ maxTradeUsd: 500 }"));
    tenant.put({ maxTradeUsd: 5 }, 60_000);
    const plan = tenant.plan(policy("{ maxTradeUsd: 500 }"));
    expect(plan).toMatchObject({ empty: true, items: [], overrides: [{ field: "policy.maxTradeUsd", value: 5 }] });
    tenant.world.wait(60_000);
    expect(tenant.plan(policy("{ maxTradeUsd: 500 }")).overrides).toEqual([]);
  });
});

describe("what a person must decide", () => {
  const drifted = () => {
    const tenant = new PlannedTenant();
    tenant.apply(policy("{ maxTradeUsd: 500 }"));
    tenant.put({ maxTradeUsd: 50 });
    return tenant;
  };
  const files = policy("{ maxTradeUsd: 500 }");

  test("drift stops an apply, and the refusal names the field and the flags", () => {
    const message = refusalOf(() => drifted().apply(files));
    expect(message).toContain("policy.maxTradeUsd");
    expect(message).toContain("--on-drift overwrite");
  });

  test("a live change that tightened is not undone by overwriting alone", () => {
    const tenant = drifted();
    expect(refusalOf(() => tenant.apply(files, { onDrift: "overwrite" }))).toContain("--accept-loosening");
    tenant.apply(files, { onDrift: "overwrite", acceptLoosening: true });
    expect(tenant.policy().maxTradeUsd).toBe(500);
    expect(tenant.plan(files).empty).toBe(true);
  });

  test("adopting keeps the live value and asks no more, until the file or the live value changes", () => {
    const tenant = drifted();
    tenant.apply(files, { onDrift: "adopt" });
    expect(tenant.policy().maxTradeUsd).toBe(50);
    expect(tenant.plan(files)).toMatchObject({ empty: true, items: [{ kind: "adopted" }] });
    tenant.apply(files);
    expect(tenant.plan(files).items).toMatchObject([{ kind: "adopted" }]);
    expect(summary(tenant.plan(policy("{ maxTradeUsd: 60 }")))).toEqual(["policy.maxTradeUsd change loosens"]);
    tenant.put({ maxTradeUsd: 40 });
    expect(summary(tenant.plan(files))).toEqual(["policy.maxTradeUsd drift loosens"]);
  });

  test("loosening is refused without its flag, tightening is not", () => {
    const tenant = new PlannedTenant();
    tenant.apply(files);
    expect(refusalOf(() => tenant.apply(policy("{ maxTradeUsd: 501 }")))).toContain("--accept-loosening");
    expect(tenant.policy().maxTradeUsd).toBe(500);
    tenant.apply(policy("{ maxTradeUsd: 499 }"));
    expect(tenant.policy().maxTradeUsd).toBe(499);
  });

  test("turning identity checks off loosens", () => {
    const tenant = new PlannedTenant();
    tenant.apply({});
    expect(summary(tenant.plan({ sections: { kyc: "{ required: false }" } }))).toEqual(["kyc.required change loosens"]);
  });
});

describe("keys", () => {
  test("narrower scopes and networks tighten, wider ones loosen, and both at once loosen", () => {
    const keys = { ops: "a" };
    const changed = (before: Files["kept"], after: Files["kept"]) => {
      const tenant = new PlannedTenant();
      tenant.apply({ keys, kept: before });
      const plan = tenant.plan({ keys, kept: after });
      expect(tenant.plan({ keys, kept: before }).empty).toBe(true);
      return summary(plan);
    };
    const ops = (kept: { scopes?: Scope[]; from?: string[] }) => ({ ops: kept });
    const tightens = ["keys.ops change tightens"];
    const loosens = ["keys.ops change loosens"];
    expect(changed({}, ops({ scopes: ["read", "settle"] }))).toEqual(tightens);
    expect(changed(ops({ scopes: ["read", "settle"] }), ops({ scopes: ["read"] }))).toEqual(tightens);
    expect(changed(ops({ scopes: ["read"] }), ops({ scopes: ["read", "settle"] }))).toEqual(loosens);
    expect(changed(ops({ scopes: ["read"] }), {})).toEqual(loosens);
    expect(changed(ops({ scopes: ["read"] }), ops({ scopes: ["settle"] }))).toEqual(loosens);
    expect(changed({}, ops({ from: ["10.0.0.0/8"] }))).toEqual(tightens);
    expect(changed(ops({ from: ["10.0.0.0/8"] }), ops({ from: ["10.2.0.0/16", "10.3.0.1/32"] }))).toEqual(tightens);
    expect(changed(ops({ from: ["10.2.0.0/16"] }), ops({ from: ["10.0.0.0/8"] }))).toEqual(loosens);
    expect(changed(ops({ from: ["10.0.0.0/8"] }), ops({ from: ["10.0.0.0/8", "fd00::/8"] }))).toEqual(loosens);
    expect(changed(ops({ from: ["10.0.0.0/8"] }), {})).toEqual(loosens);
    expect(changed(ops({ scopes: ["read"] }), ops({ from: ["10.0.0.0/8"] }))).toEqual(loosens);
  });

  test("a wider key loosens whatever it is called, and whatever its value", () => {
    const tenant = new PlannedTenant();
    tenant.apply({ keys: { ci: "a" }, kept: { ci: { scopes: ["read"] } } });
    expect(summary(tenant.plan({ keys: { deploy: "a" } }))).toEqual([
      "keys.deploy change loosens",
      "keys.ci change tightens",
    ]);
    const wider = { keys: { ci: "b" }, kept: { ci: { scopes: ["read", "keys"] as Scope[] } } };
    expect(summary(tenant.plan(wider))).toEqual(["keys.ci change loosens"]);
    expect(refusalOf(() => tenant.apply(wider))).toContain("scopes read,keys");
    tenant.apply(wider, { acceptLoosening: true });
    expect(tenant.live().keys).toMatchObject([{ name: "ci", scopes: ["read", "keys"], from: [] }]);
  });

  test("what was changed behind the file's back is drift", () => {
    const tenant = new PlannedTenant();
    const files = { keys: { ci: "a" }, kept: { ci: { scopes: ["read"] as Scope[], from: ["10.0.0.0/8"] } } };
    tenant.apply(files);
    const [key] = tenant.world.get("keyring", SINGLE) ?? [];
    if (key) tenant.world.put("keyring", SINGLE, [{ ...key, scopes: ["*"] }]);
    expect(summary(tenant.plan(files))).toEqual(["keys.ci drift tightens"]);
  });

  test("are replaced when their value changes and revoked when they leave the file", () => {
    const tenant = new PlannedTenant();
    tenant.apply({ keys: { ops: "a", web: "b" } });
    const plan = tenant.apply({ keys: { ops: "c" } });
    expect(summary(plan)).toEqual(["keys.ops change neutral", "keys.web change tightens"]);
    expect(JSON.stringify(plan)).not.toContain(desiredOf({ keys: { ops: "c" } }).keys?.[0]?.hash);
    expect(tenant.live().keys.map(({ name }) => name)).toEqual(["ops"]);
    expect(tenant.plan({ keys: { ops: "c" } }).empty).toBe(true);
  });

  test("that were created live and are in no document are not managed", () => {
    const tenant = new PlannedTenant();
    tenant.apply({ keys: { ops: "a" } });
    const created = {
      name: "robot",
      type: "admin" as const,
      hash: "f".repeat(64),
      scopes: ["*"] as const,
      from: [],
      createdAt: 1,
      expiresAt: null,
      leaked: false,
      onRecord: true,
      version: 1,
    };
    tenant.world.put("keyring", "", [...(tenant.world.get("keyring", "") ?? []), created]);
    expect(tenant.plan({ keys: { ops: "a" } }).empty).toBe(true);
    expect(summary(tenant.plan({ keys: { ops: "a", robot: "z" } }))).toEqual(["keys.robot conflict neutral"]);
  });

  test("that were revoked live come back only with --accept-loosening", () => {
    const tenant = new PlannedTenant();
    tenant.apply({ keys: { ops: "a" } });
    const ring = (tenant.world.get("keyring", "") ?? []).map((key) => ({ ...key, expiresAt: tenant.world.now }));
    tenant.world.put("keyring", "", ring);
    expect(summary(tenant.plan({ keys: { ops: "a" } }))).toEqual(["keys.ops drift loosens"]);
    expect(refusalOf(() => tenant.apply({ keys: { ops: "a" } }, { onDrift: "overwrite" }))).toContain(
      "--accept-loosening",
    );
    tenant.apply({ keys: { ops: "a" } }, { onDrift: "overwrite", acceptLoosening: true });
    expect(tenant.live().keys.map(({ name }) => name)).toEqual(["ops"]);
  });
});

describe("the value of a key that was ended", () => {
  const ended = (tenant: PlannedTenant) => {
    const plan = tenant.plan({ keys: { ops: "a" } });
    expect(summary(plan)).toEqual([expect.stringMatching(/^keys.ops (change|drift|conflict) loosens$/)]);
    const act = () => tenant.apply({ keys: { ops: "a" } }, { onDrift: "overwrite" });
    expect(refusalOf(act)).toContain("--accept-loosening");
  };

  test("comes back only with --accept-loosening, although its name has another one in force", () => {
    const tenant = new PlannedTenant();
    tenant.apply({ keys: { ops: "a" } });
    tenant.apply({ keys: { ops: "b" } });
    ended(tenant);
    tenant.apply({ keys: { ops: "a" } }, { acceptLoosening: true });
    expect(tenant.plan({ keys: { ops: "a" } }).empty).toBe(true);
  });

  test("lives no longer than its rotation left it without --accept-loosening", () => {
    const tenant = new PlannedTenant();
    tenant.apply({ keys: { ops: "a" } });
    tenant.world.run({ type: "rotateKey", name: "ops", hash: "b".repeat(64), overlapMs: 1000 });
    ended(tenant);
    tenant.world.now += 1000;
    ended(tenant);
  });

  test("comes back by no flag and under no name once it was ended as leaked", () => {
    const tenant = new PlannedTenant();
    tenant.apply({ keys: { ops: "a" } });
    tenant.world.run({ type: "rotateKey", name: "ops", hash: "b".repeat(64), overlapMs: 1000, leaked: true });
    for (const keys of [{ ops: "a" }, { ops: "b", other: "a" }]) {
      expect(refusalOf(() => tenant.apply({ keys }, { onDrift: "overwrite", acceptLoosening: true }))).toMatch(
        /keys\.(ops|other): the value of (ops|other) was ended as leaked; put a new value there/,
      );
    }
    const hash = tenant.world.get("keyring", "")?.find(({ leaked }) => leaked)?.hash ?? "";
    const key = { name: "new", keyType: "admin", hash, expiresAt: null } as const;
    const again = "The value of the key new was ended as leaked";
    expect(refusalOf(() => tenant.world.run({ type: "createKey", ...key }))).toContain(again);
    const rotation = { type: "rotateKey", name: "ops", hash, overlapMs: 0 } as const;
    expect(refusalOf(() => tenant.world.run(rotation))).toContain("was ended as leaked");
    tenant.apply({ keys: { ops: "c" } }, { onDrift: "overwrite", acceptLoosening: true });
    expect(tenant.world.get("keyring", "")?.filter(({ leaked }) => leaked)).toHaveLength(1);
  });

  test("comes back under another name only so, too", () => {
    const tenant = new PlannedTenant();
    tenant.apply({ keys: { ops: "a", web: "b" } });
    tenant.apply({ keys: { ops: "a" } });
    expect(summary(tenant.plan({ keys: { ops: "a", other: "b" } }))).toEqual(["keys.other change loosens"]);
  });
});

describe("markets", () => {
  test("are created once, suspended and resumed by their state, and never by anything else", () => {
    const tenant = new PlannedTenant();
    tenant.apply({ markets: [{}] });
    expect(summary(tenant.plan({ markets: [{ state: "suspended" }] }))).toEqual(["markets.rain change tightens"]);
    tenant.apply({ markets: [{ state: "suspended" }] });
    expect(summary(tenant.plan({ markets: [{}] }))).toEqual(["markets.rain change loosens"]);
    expect(refusalOf(() => tenant.apply({ markets: [{}] }))).toContain("--accept-loosening");
    tenant.apply({ markets: [{}] }, { acceptLoosening: true });
    expect(tenant.world.all("market")).toHaveLength(1);
  });

  test("that an operator suspended are not resumed by the next apply", () => {
    const tenant = new PlannedTenant();
    tenant.apply({ markets: [{}] });
    tenant.world.run({ type: "suspendMarket", marketId: "m1" });
    expect(summary(tenant.plan({ markets: [{}] }))).toEqual(["markets.rain drift loosens"]);
  });

  test("that a proposal to end them suspended are no drift, and wait for it whatever the file says", () => {
    const tenant = new PlannedTenant();
    const sections = { resolution: "{ approvals: 2 }" };
    tenant.apply({ sections, markets: [{}] });
    const asked = { proposalId: "p1", by: "admin:ops", request: "{}", evidence: null };
    tenant.world.run({ type: "settleMarket", marketId: "m1", outcome: "yes", asked });
    const [live] = tenant.live().markets;
    expect(live).toMatchObject({ status: "suspended", proposalId: "p1" });
    const plan = tenant.plan({ sections, markets: [{}] });
    expect([plan.items, plan.warnings, plan.empty]).toEqual([[], [], true]);
    expect(summary(tenant.apply({ sections, markets: [{}] }, { onDrift: "overwrite", acceptLoosening: true }))).toEqual(
      [],
    );
    tenant.world.run({ type: "rejectProposal", proposalId: "p1", by: "admin:eve", reason: "It did not rain" });
    // It stays suspended, which a person decides about.
    expect(summary(tenant.plan({ sections, markets: [{}] }))).toEqual(["markets.rain drift loosens"]);
    tenant.world.run({ type: "resumeMarket", marketId: "m1" });
    expect(tenant.plan({ sections, markets: [{}] }).empty).toBe(true);
  });

  test("whose file says open again while a proposal waits stay suspended, with a warning that names it", () => {
    const tenant = new PlannedTenant();
    const sections = { resolution: "{ approvals: 2 }" };
    tenant.apply({ sections, markets: [{ state: "suspended" }] });
    const asked = { proposalId: "p1", by: "admin:ops", request: "{}", evidence: null };
    tenant.world.run({ type: "voidMarket", marketId: "m1", reason: "r", asked });
    const plan = tenant.plan({ sections, markets: [{}] });
    expect([plan.items, plan.warnings]).toEqual([
      [],
      ["markets.rain stays suspended while the proposal p1 about it waits"],
    ]);
  });

  test.each([{ question: "Will it snow?" }, { closeAt: 2e12 }, { kind: "lmsr" as const }])(
    "with changed terms stop the apply, whatever the flags: %j",
    (change) => {
      const tenant = new PlannedTenant();
      tenant.apply({ markets: [{}] });
      const act = () => tenant.apply({ markets: [change] }, { onDrift: "overwrite", acceptLoosening: true });
      expect(refusalOf(act)).toContain(`markets.rain.${Object.keys(change)[0]}`);
    },
  );

  test("whose file went away, or states what counts only at creation, are warnings", () => {
    const tenant = new PlannedTenant();
    tenant.apply({ markets: [{}] });
    expect(tenant.plan({ markets: [{ p0: 0.7 }] })).toMatchObject({
      empty: true,
      warnings: [expect.stringContaining("p0")],
    });
    const gone = tenant.plan({ markets: [] });
    expect(gone).toMatchObject({ empty: true, warnings: [expect.stringContaining("markets.rain is in no file")] });
    expect(tenant.world.all("market")).toHaveLength(1);
  });

  test("that are settled or closed are left alone, and one that would close in the past is a conflict", () => {
    const tenant = new PlannedTenant();
    tenant.apply({ markets: [{}] });
    tenant.world.run({ type: "settleMarket", marketId: "m1", outcome: "yes" });
    expect(tenant.plan({ markets: [{ state: "suspended" }] }).items).toEqual([]);
    expect(refusalOf(() => tenant.apply({ markets: [{}, { key: "late", closeAt: 1000 }] }))).toContain(
      "its close is in the past",
    );
  });
});
