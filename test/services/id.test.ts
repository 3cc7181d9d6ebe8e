import { expect, test } from "vitest";
import { newId } from "../../src/services/tenant/tenant.ts";

test("identifiers of one millisecond sort by its fraction, and their length never changes", () => {
  const ids = [0, 0.25, 0.5, 0.999, 1].map((fraction) => newId("wdr", 1_800_000_000_000 + fraction));
  expect(ids.toSorted()).toEqual(ids);
  for (const id of ids) expect(id).toMatch(/^wdr_[0-9a-f]{32}$/);
});

test("a thousand identifiers of one instant are all different", () => {
  expect(new Set(Array.from({ length: 1000 }, () => newId("trd", 1_800_000_000_000.5))).size).toBe(1000);
});
