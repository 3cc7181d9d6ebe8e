import { describe, expect, test } from "vitest";
import { freeKey } from "../../src/plan/plan-markets.ts";

describe("the key of a market that has none", () => {
  test.each([
    ["Will it rain in Zürich?", "will-it-rain-in-zurich"],
    ["  BTC > $100,000 by 2030-01-01? ", "btc-100-000-by-2030-01-01"],
    ["雨は降るか", "market"],
    ["-", "market"],
    [`${"a".repeat(63)} b`, "a".repeat(63)],
  ])("is made of the question %j", (question, key) => {
    expect(freeKey(question, new Set())).toBe(key);
  });

  test("is one that nothing has, and of at most 64 characters", () => {
    const used = new Set<string>();
    for (let each = 0; each < 12; each += 1) used.add(freeKey("x".repeat(80), used));
    expect([...used].at(-1)).toBe(`${"x".repeat(61)}-12`);
    for (const key of used) expect(key).toMatch(/^[a-z0-9][a-z0-9._-]{0,63}$/);
    expect(used.size).toBe(12);
  });
});
