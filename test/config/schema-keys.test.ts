import { describe, expect, test } from "vitest";
import { FILES, type FileKey, findKey, keysOf } from "../../src/config/schema/schema-keys.ts";
import { Fault } from "../../src/domain/fault.ts";

const all = (key: FileKey): FileKey[] => [key, ...key.keys.flatMap(all)];

describe.each(Object.keys(FILES))("the keys of %s", (file) => {
  const keys = all(keysOf(file));

  test("each has a type, each that the schema names a description, and each is found by its path", () => {
    expect(keys.length).toBeGreaterThan(5);
    for (const key of keys) {
      expect(key.type, key.path).not.toBe("");
      if (!key.path.endsWith("*")) expect(key.description, key.path).not.toBe("");
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
