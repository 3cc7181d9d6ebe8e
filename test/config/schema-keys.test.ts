import { describe, expect, test } from "vitest";
import { z } from "zod";
import { TenantFileSchema } from "../../src/config/schema/schema.ts";
import { FILES, type FileKey, findKey, keysOf } from "../../src/config/schema/schema-keys.ts";
import { Fault } from "../../src/domain/fault.ts";
import { PlannedTenant, summary } from "../plan/plan-world.ts";
import { parse, tenantText } from "./support.ts";

const all = (key: FileKey): FileKey[] => [key, ...key.keys.flatMap(all)];

describe.each(Object.keys(FILES))("the keys of %s", (file) => {
  const keys = all(keysOf(file));

  test("each has a type and a description, and each is found by its path", () => {
    expect(keys.length).toBeGreaterThan(5);
    for (const key of keys) {
      expect(key.type, key.path).not.toBe("");
      expect(key.description, key.path).not.toBe("");
      const path = key.path.replaceAll("[]", "");
      expect(findKey(path).path.replaceAll("[]", "")).toBe(path);
    }
  });
});

test("a field of the policy has its default, and the direction in which a change loosens", () => {
  expect(findKey("tenant.policy.feeBps")).toMatchObject({
    type: "integer, 0 to 1000",
    default: 100,
    loosens: undefined,
  });
  expect(findKey("tenant.policy.maxTradeUsd")).toMatchObject({ default: 500, loosens: "a higher value" });
  expect(findKey("tenant.policy.suitabilityRequired")).toMatchObject({ default: false, loosens: "false" });
});

test.each([
  ["server", "did you mean tenant.server?"],
  ["policy.feeBps", "did you mean tenant.policy.feeBps?"],
  ["server.prt", "There is no key tenant.server.prt; did you mean tenant.server.port?"],
  ["constructor", "there are: tenant, market"],
  ["tennant", "did you mean tenant?"],
  ["tenant.policy.feeBp", "did you mean tenant.policy.feeBps?"],
  ["nonsense", "there are: tenant, market, case, fleet, pmctl"],
])("an unknown key %s is answered with %s", (path, hint) => {
  expect(() => findKey(path)).toThrow(hint);
});

test("a key that two forms of a section have says what it is in both", () => {
  expect(findKey("tenant.auth.jwt.algorithm")).toMatchObject({
    type: '"HS256" or ES256 | EdDSA | RS256',
    required: true,
  });
  expect(findKey("tenant.auth.jwt.secret").required).toBe(false);
});

test("each default of the tenant file is the value that a file has which leaves the key out", () => {
  const sections = {
    server: "{ limits: {} }",
    embed: "{ theme: { colors: {}, words: {} } }",
    oracle: "{ sources: {}, venues: {} }",
  };
  const { source: _, ...config } = parse(tenantText(sections));
  const stated = z.encode(TenantFileSchema, config) as Record<string, unknown>;
  const compared = all(keysOf("tenant")).filter(({ path, default: usual, keys }) => {
    const value = valueAt(stated, path);
    if (usual === undefined || keys.length > 0 || value === undefined) return false;
    expect(value, path).toEqual(usual);
    return true;
  });
  expect(compared.length).toBeGreaterThan(30);
});

function valueAt(document: unknown, path: string): unknown {
  const inside = (value: unknown, name: string) =>
    typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
  return path.split(".").slice(1).reduce(inside, document);
}

test("a secret and its lists, a key's reach, identity checks and a market's state say what loosens, as plans do", () => {
  expect(findKey("tenant.kyc.required").loosens).toBe("false");
  expect(findKey("tenant.keys.admin.scopes").loosens).toBe("a further scope");
  expect(findKey("tenant.keys.public.from").loosens).toBe("a further network");
  expect(findKey("market.state").loosens).toBe("open");
  expect(findKey("tenant.audit.key").loosens).toBe("another reference");
  expect(findKey("tenant.webhooks.inbound.stripe").loosens).toBe("another reference");
  const before = { keys: { ops: "k1" }, kept: { ops: { scopes: ["read" as const], from: ["10.0.0.0/8"] } } };
  const tenant = new PlannedTenant();
  tenant.apply({ ...before, markets: [{ state: "suspended" }], sections: { kyc: "{ required: true }" } });
  const after = { ...before, kept: { ops: { scopes: ["read" as const, "funds" as const], from: ["10.0.0.0/8"] } } };
  const sections = { kyc: "{ required: false }", audit: "{ key: { env: ACME_OTHER } }" };
  expect(summary(tenant.plan({ ...after, markets: [{ state: "open" }], sections })).toSorted()).toEqual([
    "keys.ops change loosens",
    "kyc.required change loosens",
    "markets.rain change loosens",
    "secrets.env ACME_OTHER change loosens",
  ]);
  const wider = { ...before, kept: { ops: { scopes: ["read" as const], from: [] } } };
  expect(
    summary(tenant.plan({ ...wider, markets: [{ state: "suspended" }], sections: { kyc: "{ required: true }" } })),
  ).toEqual(["keys.ops change loosens"]);
});

test("a key that there is not names the nearest, or those that there are", () => {
  const messageOf = (path: string) => {
    try {
      findKey(path);
    } catch (error) {
      return error instanceof Fault ? `${error.code} ${error.message}` : String(error);
    }
    return "found";
  };
  expect(messageOf("tenant.policy.feebp")).toBe(
    "NOT_FOUND There is no key tenant.policy.feebp; did you mean tenant.policy.feeBps?",
  );
  expect(messageOf("nothing")).toMatch(
    /^NOT_FOUND There is no key nothing; there are: tenant, market, case, fleet, pmctl$/,
  );
});
