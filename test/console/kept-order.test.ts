import { expect, test } from "vitest";
import { type Drawn, keptOrder } from "../../src/console/parts/kept-order.ts";

type Row = readonly [id: string, figure: number];
const order = (before: readonly Drawn<Row>[], rows: readonly Row[], most = 9) =>
  keptOrder(before, rows, ([id]) => id, most);
const drawn = (...rows: Row[]): Drawn<Row>[] => rows.map((row) => ({ row, isGone: false }));

test("rows keep their places with their new contents; new rows come last, in their order", () => {
  expect(
    order(drawn(["b", 1], ["a", 1]), [
      ["d", 1],
      ["c", 1],
      ["a", 2],
      ["b", 2],
    ]),
  ).toEqual(drawn(["b", 2], ["a", 2], ["d", 1], ["c", 1]));
});

test("a row that is gone stays as it was, and is as before when it comes back", () => {
  const gone = order(drawn(["b", 1], ["a", 1]), [["a", 2]]);
  expect(gone).toEqual([{ row: ["b", 1], isGone: true }, ...drawn(["a", 2])]);
  expect(order(gone, [["a", 3]])).toEqual([{ row: ["b", 1], isGone: true }, ...drawn(["a", 3])]);
  expect(
    order(gone, [
      ["a", 3],
      ["b", 3],
    ]),
  ).toEqual(drawn(["b", 3], ["a", 3]));
});

test("rows that are gone and not drawn go, however often a list in motion changes", () => {
  let shown = drawn(["0", 0], ["1", 0]);
  for (let turn = 2; turn < 50; turn += 1)
    shown = order(
      shown,
      [
        [`${turn}`, 0],
        [`${turn - 1}`, 0],
      ],
      3,
    );
  expect(shown.map(({ row: [id] }) => id)).toEqual(["0", "1", "2", "48", "49"]);
});
