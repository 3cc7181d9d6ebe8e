import { describe, expect, test } from "vitest";
import { marketMoney } from "../../src/plan/judge.ts";
import { makePlan, neverApplied } from "../../src/plan/plan.ts";
import { decide, refusalsOf } from "../../src/plan/plan-decision.ts";
import { documentOf } from "../../src/plan/plan-document.ts";
import { evaluate, evaluateRules, factsOfFiles, factsOfPlan, ruleFindings } from "../../src/plan/rules/rules.ts";
import { parse, tenantText } from "../config/support.ts";
import { desiredOf } from "./plan-world.ts";

const NOW = Date.UTC(2027, 0, 1);
const sections = {
  policy: '{ feeBps: 250, jurisdictions: { blocked: ["US"] } }',
  labels: "{ region: eu }",
  treasury: "{ capitalUsd: 5000 }",
};
const { document } = desiredOf({ sections, markets: [{ key: "rain" }, { key: "snow", liquidityUsd: 500_000_000n }] });
const facts = factsOfFiles(document, { region: "eu" }, NOW);

describe("a rule's expression", () => {
  test.each([
    "feeBps <= 300",
    "feeBps == 250 && 250 == feeBps",
    "feeBps * 2 == 500 && 2 * feeBps - 1 > 498 && feeBps / 100 < 3",
    "maxTradeUsd == 500",
    'jurisdictions.blocked.exists(code, code == "US")',
    '"US" in jurisdictions.blocked',
    "suitabilityRequired == false",
    "resolution_url == null",
    "worstCaseLoss == 1500 && worstCaseLoss < 0.4 * treasury",
    'tenant.tenant == "acme" && tenant.server.port == 8080 && tenant.policy.feeBps == 250',
    'labels.region == "eu" && !has(labels.team)',
    'markets.size() == 2 && markets.all(market, market.closeAt > timestamp("2020-01-01T00:00:00Z"))',
    'markets.exists(market, market.key == "snow" && market.liquidityUsd * 2 == 1000)',
    'now == timestamp("2027-01-01T00:00:00Z")',
  ])("%s", (expression) => {
    expect(evaluate(expression, { ...facts })).toEqual({ value: true });
  });

  test.each([
    ["feeBps <", "it ends too early: something is missing after its last character"],
    ["feeBps = 1", "it cannot be read at character 8: == compares"],
    ["feebps < 1", "there is no feebps; did you mean feeBps?"],
    ["labels.x == 1", "there is no labels.x; the names are: region; has(labels.x) asks whether it is there"],
    ["tenant.policy.feebps > 1", "there is no tenant.policy.feebps; did you mean tenant.policy.feeBps?"],
    ["markets[9].p0 > 1", "there is no `markets[9]`: the list has 2 entries, from [0]"],
    ["feeBps.x == 1", "there is no .x of a number"],
    ["feeBps", "it is a number, and a rule must be true or false"],
    ["tenant.tenant", "it is neither true nor false"],
    ['feeBps < "3"', '`feeBps < "3"` cannot be evaluated: < does not go between a number and a text'],
    ['now > "x"', '`now > "x"` cannot be evaluated: > does not go between a time and a text'],
    ["!feeBps", "`!feeBps` cannot be evaluated: ! does not go with a number"],
    ["size(feeBps) > 1", "`size(feeBps)` cannot be evaluated: size does not take a number"],
    [
      'labels.region.startswith("e")',
      '`labels.region.startswith("e")` cannot be evaluated: there is no function startswith; did you mean startsWith?',
    ],
    [
      'duration("abc") > now',
      '`duration("abc") > now` cannot be evaluated: > does not go between a duration and a time',
    ],
    [
      'duration("abc") > duration("1s")',
      '`duration("abc")` cannot be evaluated: a duration is a text such as "90s" or "1h30m"',
    ],
    ["1/0 > 1", "`1/0` cannot be evaluated: it divides by zero"],
  ])("%s is refused: %s", (expression, problem) => {
    expect(evaluate(expression, { ...facts })).toEqual({ problem });
  });

  const nested = [0, 1, 2, 3, 4, 5, 6, 7].reduce(
    (inner, level) => `[0,1,2,3,4,5,6,7,8,9].all(n${level}, ${inner})`,
    "true",
  );
  test("that would not come to an end is ended, and the one after it is evaluated as ever", () => {
    for (const endless of [`"${"a".repeat(36)}!".matches("^(a+)+$")`, nested]) {
      expect(evaluate(endless, { ...facts }, performance.now() + 50)).toEqual({
        problem: "took longer than the 1 s that all rules of a tenant have",
        isLate: true,
      });
      expect(evaluate("feeBps == 250", { ...facts })).toEqual({ value: true });
    }
  });

  test("one about the plan is left out where nothing is planned, a name of its own notwithstanding", () => {
    expect(evaluate("plan.newMarkets <= 3", { ...facts })).toBeUndefined();
    expect(evaluate("plan.newMarkets <= 3", { ...facts, plan: { newMarkets: 4 } })).toEqual({ value: false });
    expect(evaluate('tenant.tenant != "plan"', { ...facts })).toEqual({ value: true });
    expect(evaluate("plan.newMarkets <", { ...facts })).toMatchObject({ problem: expect.any(String) });
  });
});

describe("rules", () => {
  const stated = parse(
    tenantText({
      rules:
        "[{ name: cheap, expr: feeBps <= 200 }, { name: shown, expr: feeBps <= 200, effect: warn, message: fees rise }, { name: asked, expr: feeBps <= 200, effect: approve }, { name: fine, expr: feeBps > 0 }, { name: wrong, expr: nope }]",
    }),
  ).rules;

  test("deny unless they say otherwise, and say what is broken", () => {
    const { broken, invalid } = evaluateRules(stated, facts);
    expect(broken).toEqual([
      { name: "cheap", effect: "deny", message: "feeBps <= 200", index: 0 },
      { name: "shown", effect: "warn", message: "fees rise", index: 1 },
      { name: "asked", effect: "approve", message: "feeBps <= 200", index: 2 },
    ]);
    expect(invalid).toMatchObject([
      {
        path: ["rules", 4, "expr"],
        message: expect.stringContaining("the rule wrong cannot be evaluated: there is no nope"),
        code: "RULE_INVALID",
      },
    ]);
  });

  test("have one second together, and the one that is ended is the last one told of", () => {
    const rule = (name: string, expr: string) => ({ name, expr, effect: "deny" as const });
    const endless = `"${"a".repeat(36)}!".matches("^(a+)+$")`;
    const { broken, invalid } = evaluateRules(
      [rule("low", "feeBps < 1"), rule("endless", endless), rule("again", endless), rule("after", "false")],
      facts,
    );
    expect(broken).toMatchObject([{ name: "low" }]);
    expect(invalid).toMatchObject([{ path: ["rules", 1, "expr"], code: "RULE_INVALID" }]);
  });

  test("of the files alone are errors where they deny or cannot be read, and warnings where they warn or ask", () => {
    expect(ruleFindings(stated, facts).map(({ code, severity = "error" }) => [code, severity])).toEqual([
      ["RULE_INVALID", "error"],
      ["RULE_DENIED", "error"],
      ["RULE_WARNED", "warning"],
      ["RULE_WARNED", "warning"],
    ]);
  });

  test("have names of their own, and are no part of what a server stores", () => {
    expect(() => parse(tenantText({ rules: "[{ name: a, expr: 'true' }, { name: a, expr: 'true' }]" }))).toThrow(
      'must be unique: "a" is taken above',
    );
    const config = parse(tenantText({ rules: "[{ name: a, expr: 'true' }]" }));
    expect(documentOf(config, [], [])).not.toHaveProperty("rules");
  });
});

describe("a plan under rules", () => {
  const desired = desiredOf({ sections, markets: [{ key: "rain" }] });
  const live = { ...neverApplied("acme", NOW), version: 1, capitalUsd: 5000, treasuryUsd: 4000 };
  const plan = makePlan(desired, live);
  const money = { ...marketMoney(plan, desired, live), trades: null };

  test("is judged by what holds after the apply, and by what it does itself", () => {
    const after = factsOfPlan({ plan, desired, live, money }, { region: "eu" });
    for (const expression of [
      "feeBps == 250",
      "worstCaseLoss == 1000 && treasury == 3000",
      "plan.newMarkets == 1",
      'plan.changes.exists(change, change.field == "policy.feeBps" && change.live == 100 && change.desired == 250)',
    ])
      expect([expression, evaluate(expression, { ...after })]).toEqual([expression, { value: true }]);
  });

  test("is refused where the treasury cannot fund its new markets, to the micro-dollar", () => {
    const choices = { onDrift: "fail" as const, acceptLoosening: true };
    const holding = (treasuryUsd: number) => {
      const poor = { ...live, treasuryUsd };
      return { ...plan, money: { ...marketMoney(plan, desired, poor), trades: null } };
    };
    expect(refusalsOf(holding(999.999999), choices)).toEqual([
      { reason: "conflict", field: "treasury.capitalUsd", flag: null },
    ]);
    expect(() => decide(holding(999.999999), desired, live, choices)).toThrow(
      "treasury.capitalUsd: the treasury cannot fund 1 new market: they need 1000 USD, and the treasury will hold 999.999999 USD",
    );
    expect(refusalsOf(holding(1000), choices)).toEqual([]);
  });

  test("is refused where a rule denies it, whatever is accepted, and where one asks until its name is accepted", () => {
    const cheap = { name: "cheap", effect: "deny" as const, message: "fees rise" };
    const asked = { name: "asked", effect: "approve" as const, message: "who says so?" };
    const choices = { onDrift: "overwrite" as const, acceptLoosening: true };
    const both = { ...plan, rules: [cheap, asked] };
    expect(refusalsOf(both, choices)).toEqual([
      { reason: "rule", field: "rules.cheap", flag: null },
      { reason: "approval", field: "rules.asked", flag: "--accept-rule asked" },
    ]);
    expect(() => decide(both, desired, live, { ...choices, acceptedRules: ["cheap", "asked"] })).toThrow(
      "rules.cheap: fees rise",
    );
    const open = { ...plan, rules: [asked] };
    expect(() => decide(open, desired, live, choices)).toThrow("rules.asked: who says so?");
    expect(refusalsOf(open, { ...choices, acceptedRules: ["asked"] })).toEqual([]);
    expect(decide(open, desired, live, { ...choices, acceptedRules: ["asked"] }).markets).toMatchObject([
      { key: "rain" },
    ]);
    expect(refusalsOf({ ...open, empty: true }, choices)).toEqual([]);
  });
});
