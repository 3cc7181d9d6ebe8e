import type { Point } from "../curve.ts";
import { chance, moment } from "../format.ts";

/** Rows of the table for those who read instead of looking. */
const ROWS = 12;

export function PriceTable({ points }: { points: readonly Point[] }) {
  const step = Math.max(1, Math.ceil(points.length / ROWS));
  const rows = points.filter((_, index) => index % step === 0 || index === points.length - 1).reverse();
  return (
    <table>
      <caption class="hidden">Chance of Yes over time, newest first</caption>
      <thead>
        <tr>
          <th scope="col">When</th>
          <th scope="col">Yes</th>
          <th scope="col">No</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ t, yes }, index) => (
          <tr key={`${t} ${index}`}>
            <td>{moment(t)}</td>
            <td>{chance(yes)}</td>
            <td>{chance(1 - yes)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
