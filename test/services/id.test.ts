import { expect, test } from "vitest";
import { newId } from "../../src/services/tenant/identifiers.ts";

test("identifiers of one millisecond sort by its fraction, and their length never changes", () => {
  const ids = [0, 0.25, 0.5, 0.999, 1].map((fraction) => newId("wdr", 1_800_000_000_000 + fraction));
  expect(ids.toSorted()).toEqual(ids);
  for (const id of ids) expect(id).toMatch(/^wdr_[0-9a-f]{32}$/);
});

test("a thousand identifiers of one instant are all different", () => {
  expect(new Set(Array.from({ length: 1000 }, () => newId("trd", 1_800_000_000_000.5))).size).toBe(1000);
});

test("an identifier begins with the milliseconds and their fraction, in hex", () => {
  for (const ms of [0, 1, 2 ** 24 - 1, 2 ** 24, 1_800_000_000_000, 2 ** 48 - 1])
    expect(newId("trd", ms + 0.75).slice(4, 19)).toBe((BigInt(ms) * 4096n + 3072n).toString(16).padStart(15, "0"));
});
