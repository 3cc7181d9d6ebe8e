import type { WireResult } from "../../../contract/operations.ts";
import { count, percent } from "../../format.ts";
import { Chart } from "../../parts/chart.tsx";
import type { Curve, Point } from "../../parts/curve.ts";
import { type Life, tradesIn } from "./life.ts";
import type { Market } from "./words.tsx";

/** The price by the hour, and by each trade where they are known. */
export function Price({
  history,
  life,
  of: market,
}: {
  history: WireResult<"getMarketHistory">;
  life: Life | undefined;
  of: Market;
}) {
  const hourly = history.map(({ t, yes }): Point => [Date.parse(t), yes]);
  const trades = life ? tradesIn(life).toReversed() : [];
  const traded = trades.map(({ ts, payload }): Point => [Date.parse(ts), Number(payload.yesPriceAfter)]);
  // Between two trades the price holds, so each trade is a step of the curve too.
  const steps = new Map([...hourly, ...traded]);
  const last = hourly.at(-1);
  if (last && market.status === "open") steps.set(Math.max(last[0], ...steps.keys()), market.yesPrice);
  const curves: Curve[] = [{ name: "Yes", shape: "steps", points: [...steps].toSorted(([a], [b]) => a - b) }];
  if (traded.length > 0) curves.push({ name: "Trades", shape: "dots", color: "--warn", points: [...new Map(traded)] });
  return <Chart name="Price of Yes" curves={curves} scale={{ y: percent, covers: [0, 1] }} />;
}

/** The shares on offer from the present price on, summed up to each price. */
export function Depth({ of: { yes, no } }: { of: WireResult<"getMarketDepth"> }) {
  if (yes.length + no.length === 0) return null;
  const curves = [
    { name: "Yes", shape: "steps", color: "--accent", points: summed(yes) },
    { name: "No", shape: "steps", color: "--warn", points: summed(no) },
  ] as const;
  return <Chart name="Depth: shares up to a price" over="Price" curves={curves} scale={{ x: percent, y: count }} />;
}

function summed(levels: WireResult<"getMarketDepth">["yes"]): Point[] {
  let sum = 0;
  return levels.map(({ price, size }): Point => {
    sum += size;
    return [price, sum];
  });
}
