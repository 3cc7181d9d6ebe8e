import { expect, test } from "vitest";
import { shrink } from "./shrink.ts";

test("a failure that needs three of two hundred steps is shortened to those three", async () => {
  const steps = Array.from({ length: 200 }, (_, index) => index);
  const needed = [17, 130, 199];
  let tried = 0;
  const fails = async (candidate: readonly number[]) => {
    tried += 1;
    return needed.every((step) => candidate.includes(step));
  };
  expect(await shrink(steps, fails, () => true)).toEqual(needed);
  expect(tried).toBeLessThan(100);
});

test("without time left the sequence stays as it is", async () => {
  expect(
    await shrink(
      [1, 2, 3],
      async () => true,
      () => false,
    ),
  ).toEqual([1, 2, 3]);
});
