import type { Path } from "../../config/config-error.ts";
import { isMapping } from "../../domain/json/mapping.ts";

/** What a case expected at a place and did not find. */
export interface Difference {
  path: Path;
  expected: unknown;
  /** Null where there is nothing. */
  actual: unknown;
}

/** Numbers that are nearer to each other are the same: a micro-dollar, and what doubles lose of it. */
const TOLERANCE = 1e-6 + 1e-9;

/** Where a value departs from what was expected of it. What an expected mapping does not name is not compared. */
export function differences(expected: unknown, actual: unknown, path: Path): Difference[] {
  if (isMapping(expected) && isMapping(actual))
    return Object.entries(expected).flatMap(([name, value]) => differences(value, actual[name], [...path, name]));
  if (Array.isArray(expected) && Array.isArray(actual) && expected.length === actual.length)
    return expected.flatMap((value, index) => differences(value, actual[index], [...path, index]));
  return isSame(expected, actual) ? [] : [{ path, expected, actual: actual ?? null }];
}

function isSame(expected: unknown, actual: unknown): boolean {
  if (typeof expected === "number" && typeof actual === "number") return Math.abs(expected - actual) <= TOLERANCE;
  return expected === (actual ?? null);
}
