import { expect, test } from "vitest";
import { type Curve, rowsOf, summaryOf } from "../../src/console/parts/curve.ts";

const percent = { y: (value: number) => `${value * 100}%` };
const price: Curve = {
  name: "Yes",
  points: [
    [1, 0.5],
    [2, 0.25],
    [4, 0.75],
  ],
};

test("a curve in words: its last value and its range; a flat one has no range, an empty one no values", () => {
  expect(summaryOf(price, percent)).toBe("Yes: last 75%, between 25% and 75%");
  expect(summaryOf({ name: "Yes", points: [[1, 0.5]] }, percent)).toBe("Yes: 50%");
  expect(summaryOf({ name: "Yes", points: [] }, percent)).toBe("Yes: no values");
});

test("the table of several curves has each time once, rising, and leaves out what a curve does not have", () => {
  const trades: Curve = {
    name: "Trades",
    points: [
      [2, 0.3],
      [3, 0.4],
    ],
  };
  expect(rowsOf([price, trades])).toEqual([
    [1, 0.5, null],
    [2, 0.25, 0.3],
    [3, null, 0.4],
    [4, 0.75, null],
  ]);
  expect(rowsOf([])).toEqual([]);
});
