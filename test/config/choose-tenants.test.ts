import { describe, expect, test } from "vitest";
import { chooseTenants } from "../../src/config/selection/choose-tenants.ts";
import { parseSelector } from "../../src/config/selection/selector.ts";
import { openWorkspace } from "../../src/config/workspace.ts";
import { Fault } from "../../src/domain/fault.ts";
import { complaints, configErrorOf, directoryWith, parse, tenantText } from "./support.ts";

/** A directory of tenants with these labels. */
function tenants(labels: Record<string, string | undefined>) {
  const files = Object.entries(labels).map(([tenant, value]) => [
    `tenants/${tenant}/tenant.yaml`,
    tenantText({ tenant, labels: value }),
  ]);
  return openWorkspace(directoryWith(Object.fromEntries(files)));
}

const three = () => tenants({ "acme-eu": "{ region: eu }", "acme-us": "{ region: us, tier: gold }", beta: undefined });

const select = (text: string) => parseSelector(text);

function faultOf(act: () => unknown): [string, number] {
  try {
    act();
  } catch (error) {
    if (error instanceof Fault) return [error.code, error.exitCode];
  }
  throw new Error("expected a Fault");
}

describe("the choice of tenants", () => {
  test("is by name, by pattern, by labels, and by both at once, each tenant once", () => {
    const workspace = three();
    const chosen = (names: string[], text?: string) =>
      chooseTenants(workspace, { names, selector: text === undefined ? undefined : select(text) }, "all");
    expect(chosen([])).toEqual(["acme-eu", "acme-us", "beta"]);
    expect(chosen(["beta", "acme-*", "acme-eu"])).toEqual(["beta", "acme-eu", "acme-us"]);
    expect(chosen(["?eta"])).toEqual(["beta"]);
    expect(chosen(["*"])).toEqual(["acme-eu", "acme-us", "beta"]);
    expect(chosen([], "region")).toEqual(["acme-eu", "acme-us"]);
    expect(chosen([], "tier!=gold")).toEqual(["acme-eu", "beta"]);
    expect(chosen(["acme-*"], "tier!=gold")).toEqual(["acme-eu"]);
  });

  test("ends with 5 when nothing is left of it", () => {
    const workspace = three();
    for (const [names, text] of [
      [["gamma"], undefined],
      [["gamma-*"], undefined],
      [["acme-[ab]*"], undefined],
      [["beta"], "region=eu"],
      [[], "region=asia"],
    ] as const)
      expect(
        faultOf(() => chooseTenants(workspace, { names, selector: text && select(text) }, "all")),
        `${names} ${text}`,
      ).toEqual(["NOT_FOUND", 5]);
    expect(faultOf(() => chooseTenants(tenants({}), { names: [], selector: select("a") }, "all"))[1]).toBe(5);
  });

  test("without names and labels is every tenant or the only one, as the command has it", () => {
    expect(faultOf(() => chooseTenants(three(), { names: [] }, "only"))).toEqual(["USAGE", 6]);
    expect(chooseTenants(tenants({ acme: undefined }), { names: [] }, "only")).toEqual(["acme"]);
    expect(chooseTenants(three(), { names: [], selector: select("region=us") }, "only")).toEqual(["acme-us"]);
  });

  test("by labels reads those of a file whose other sections are wrong, and stops where they cannot be read", () => {
    const workspace = openWorkspace(
      directoryWith({
        "tenants/one/tenant.yaml": tenantText({ tenant: "one", labels: "{ region: eu }", baseUrl: "nowhere" }),
        "tenants/two/tenant.yaml": tenantText({ tenant: "two", labels: "{ region: 5 }" }),
      }),
    );
    const choose = (names: string[]) => chooseTenants(workspace, { names, selector: select("region=eu") }, "all");
    expect(choose(["one"])).toEqual(["one"]);
    expect(configErrorOf(() => choose([])).problems.map(({ path }) => path)).toContain("labels.region");
    expect(chooseTenants(workspace, { names: [] }, "all")).toEqual(["one", "two"]);
  });
});

describe("labels of a tenant file", () => {
  test("are texts by name, none unless stated", () => {
    expect(parse(tenantText()).labels).toEqual({});
    expect(parse(tenantText({ labels: "{ region: eu, pm.example/tier: gold_1, constructor: x }" })).labels).toEqual({
      region: "eu",
      "pm.example/tier": "gold_1",
      constructor: "x",
    });
  });

  test.each([
    ["{ region: '' }", "labels.region: must be a letter or a digit"],
    ["{ region: 5 }", "labels.region: must be a text: put it in quotes"],
    ["{ region: -eu }", "labels.region: must be a letter or a digit"],
    ["{ region-: eu }", "labels.region-: must be a letter or a digit"],
    [`{ region: ${"e".repeat(64)} }`, "labels.region: must be a letter or a digit"],
    ["[eu]", "labels: must be a mapping"],
    [`{ ${Array.from({ length: 33 }, (_, n) => `l${n}: x`).join(", ")} }`, "labels: must have at most 32 labels"],
  ])("refuse %s", (labels, complaint) => {
    expect(complaints({ labels })).toEqual([expect.stringContaining(complaint)]);
  });

  test("take 32 of 63 characters each", () => {
    const labels = Array.from({ length: 32 }, (_, n) => `${`l${n}`.padEnd(63, "x")}: ${"v".repeat(63)}`);
    expect(Object.keys(parse(tenantText({ labels: `{ ${labels.join(", ")} }` })).labels)).toHaveLength(32);
  });
});
