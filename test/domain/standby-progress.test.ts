import fc from "fast-check";
import { expect, test } from "vitest";
import { followStandbys, isStalled, type Progress } from "../../src/domain/durability.ts";

const NONE: Progress = new Map();
const at = (flushed: string | null, lagBytes: number | null, pid = 7) => ({ pid, flushed, lagBytes });

/** Readings one second apart, and whether the standby counts as stalled after each. */
function stalls(readings: readonly ReturnType<typeof at>[]): boolean[] {
  let progress = NONE;
  return readings.map((reading, second) => {
    progress = followStandbys(progress, [reading], second * 1000);
    return isStalled(progress, reading, second * 1000);
  });
}

test("a standby that stays behind where it was is stalled at the fourth reading, and no longer once it moves", () => {
  const frozen = at("0/1000", 8);
  expect(stalls([at("0/1000", 0), frozen, frozen, frozen, frozen, at("0/1008", 400), at("0/1198", 0)])).toEqual([
    ...[false, false, false, false, true, false, false],
  ]);
});

test("a standby that has told of no position within that time is stalled", () => {
  expect(stalls([at(null, null), at(null, null), at(null, null), at(null, null)])).toEqual([false, false, false, true]);
});

test("a pause of the network of two seconds leaves a standby there, as does a connection made anew", () => {
  const behind = at("0/1000", 8);
  expect(stalls([behind, behind, behind, at("0/1008", 8)])).not.toContain(true);
  expect(stalls([behind, behind, behind, at("0/1000", 8, 8), at("0/1000", 8, 8)])).not.toContain(true);
});

test("of several standbys the one that stands still is stalled, however far behind the others move", () => {
  let progress = NONE;
  for (let second = 0; second < 5; second++) {
    const seen = [at("0/1000", 8), at(`0/${second + 1}`, 1e9, 8), at("0/2000", 0, 9)];
    progress = followStandbys(progress, seen, second * 1000);
  }
  expect([7, 8, 9].map((pid) => isStalled(progress, { pid }, 4000))).toEqual([true, false, false]);
});

test("whatever the pace of readings, a standby that moves or has all of the log is never stalled", () => {
  const step = fc.record({ moves: fc.boolean(), ms: fc.integer({ min: 1, max: 60_000 }) });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      let [progress, now] = [NONE, 0];
      for (const [index, { moves, ms }] of steps.entries()) {
        now += ms;
        const reading = moves ? at(`0/${index}`, 8) : at("0/0", 0);
        progress = followStandbys(progress, [reading], now);
        expect(isStalled(progress, reading, now)).toBe(false);
      }
    }),
  );
});
