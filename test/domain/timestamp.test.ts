import fc from "fast-check";
import { expect, test } from "vitest";
import { formatTimestamp } from "../../src/domain/time/timestamp.ts";

test("an instant is written as Date writes it, to the ends of the calendar, and beyond them refused", () => {
  const anyInstant = fc.oneof(
    fc.integer({ min: -8.64e15, max: 8.64e15 }),
    fc.integer({ min: 1_700_000_000_000, max: 1_700_600_000_000 }),
    fc.constantFrom(0, -0, -1, -86_400_000, 86_399_999, 86_400_000, 0.5, -0.5, 1_700_000_000_000.75),
    fc.constantFrom(8.64e15, -8.64e15, 8.64e15 - 1, 253_402_300_800_000, -62_135_596_800_001, -62_198_755_200_000),
  );
  fc.assert(
    fc.property(anyInstant, (instant) => {
      expect(formatTimestamp(instant)).toBe(new Date(instant).toISOString());
    }),
    { numRuns: 2000, seed: 7 },
  );
  for (const none of [Number.NaN, Number.POSITIVE_INFINITY, 8.64e15 + 1, -8.64e15 - 2])
    expect(() => formatTimestamp(none)).toThrow(RangeError);
});
