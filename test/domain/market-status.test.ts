import { describe, expect, test } from "vitest";
import { requireTradable, type StoredStatus, statusAt } from "../../src/domain/market/market.ts";

const CLOSE = 1_800_000_000_000;

describe("statusAt", () => {
  test.each<[StoredStatus, number, string]>([
    ["open", CLOSE - 1, "open"],
    ["open", CLOSE, "closed"],
    ["open", CLOSE + 1, "closed"],
    ["suspended", CLOSE - 1, "suspended"],
    ["suspended", CLOSE, "closed"],
    ["settled", CLOSE - 1, "settled"],
    ["settled", CLOSE, "settled"],
  ])("%s, asked at %d (closeAt is 1800000000000), is %s", (status, now, expected) => {
    expect(statusAt({ status, closeAt: CLOSE }, now)).toBe(expected);
  });
});

describe("requireTradable", () => {
  test("an open market takes trades", () => {
    expect(() => requireTradable("open", 0)).not.toThrow();
  });

  test.each([
    ["settled", "MARKET_SETTLED"],
    ["closed", "MARKET_CLOSED"],
    ["suspended", "MARKET_SUSPENDED"],
  ] as const)("a %s market refuses with %s", (status, code) => {
    expect(() => requireTradable(status, 0)).toThrow(expect.objectContaining({ code, status: 400 }));
  });
});
