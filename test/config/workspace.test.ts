import { describe, expect, test } from "vitest";
import { colorIsOff, defaultTenant, isCi } from "../../src/config/environment.ts";
import { openWorkspace, pickTenant, tenantPath } from "../../src/config/workspace.ts";
import { Fault, type FaultCode } from "../../src/domain/fault.ts";
import { directoryWith } from "./support.ts";

function faultOf(act: () => unknown): { code: FaultCode; message: string } {
  try {
    act();
  } catch (error) {
    if (error instanceof Fault) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error("expected a Fault");
}

describe("the operator's directory", () => {
  test("lists the folders that hold a tenant file, sorted", () => {
    const directory = directoryWith({
      "tenants/zeta/tenant.yaml": "",
      "tenants/acme/tenant.yaml": "",
      "tenants/notes/readme.md": "",
      "tenants/tenant.schema.json": "",
    });
    expect(openWorkspace(directory)).toEqual({ directory, tenants: ["acme", "zeta"] });
    expect(tenantPath(directory, "acme")).toBe(`${directory}/tenants/acme/tenant.yaml`);
  });

  test.each([
    ["--allow-exec", '"--allow-exec"'],
    ["a b", '"a b"'],
    ["$(id)", '"$(id)"'],
    ["Acme", '"Acme"'],
    [".hidden", '".hidden"'],
    ["..x", '"..x"'],
    ["acme\nzeta", String.raw`"acme\nzeta"`],
    ["\u009b31m\u202e", String.raw`"\u009b31m\u202e"`],
  ])("is refused with the folder of a tenant called %j, whichever tenant is meant", (name, shown) => {
    const directory = directoryWith({ "tenants/acme/tenant.yaml": "", [`tenants/${name}/tenant.yaml`]: "" });
    expect(faultOf(() => openWorkspace(directory))).toEqual({
      code: "CONFIG_INVALID",
      message: `A tenant's id must be a lower-case letter, then at most 39 of a-z, 0-9 and - (got ${shown}): rename or remove its folder in tenants/`,
    });
  });

  test("may hold no tenants yet", () => {
    expect(openWorkspace(directoryWith()).tenants).toEqual([]);
    expect(openWorkspace(directoryWith({ tenants: "a file" })).tenants).toEqual([]);
  });
});

describe("the tenant that a command means", () => {
  const workspace = (...tenants: string[]) => ({ directory: "/work", tenants });

  test("is the one it names, else PMCTL_TENANT, else the only one", () => {
    expect(pickTenant(workspace("acme", "zeta"), "zeta", "acme")).toBe("zeta");
    expect(pickTenant(workspace("acme", "zeta"), undefined, "acme")).toBe("acme");
    expect(pickTenant(workspace("acme"), undefined, undefined)).toBe("acme");
  });

  test("is asked for when there are several, with their names", () => {
    expect(faultOf(() => pickTenant(workspace("acme", "zeta"), undefined, undefined))).toEqual({
      code: "USAGE",
      message: "Which tenant? Name one with -t or PMCTL_TENANT; there are: acme, zeta",
    });
  });

  test("must exist, and the refusal says which do and where the name came from", () => {
    expect(faultOf(() => pickTenant(workspace("acme"), "amce"))).toEqual({
      code: "NOT_FOUND",
      message: 'There is no tenant "amce" in /work; there are: acme',
    });
    expect(faultOf(() => pickTenant(workspace("acme"), undefined, "old")).message).toContain("(from PMCTL_TENANT)");
  });

  test("cannot be found where there are none, and the refusal says how to make one", () => {
    expect(faultOf(() => pickTenant(workspace(), undefined, undefined))).toEqual({
      code: "USAGE",
      message: "There are no tenants in /work; `pmctl init` creates one",
    });
  });
});

test("the environment's switches are read by one rule each", () => {
  expect([defaultTenant({ PMCTL_TENANT: "acme" }), defaultTenant({ PMCTL_TENANT: "" }), defaultTenant({})]).toEqual([
    "acme",
    undefined,
    undefined,
  ]);
  expect([colorIsOff({ NO_COLOR: "1" }), colorIsOff({ NO_COLOR: "" }), colorIsOff({})]).toEqual([true, false, false]);
  expect([isCi({ CI: "true" }), isCi({ CI: "false" }), isCi({})]).toEqual([true, false, false]);
});
