import { isWithinBounds, type Maker, type Side, sell } from "./model-makers.ts";
import { ceilDivide, larger, smaller, sum } from "./model-numbers.ts";
import type { Market, Position, State } from "./model-state.ts";

/** What a position may be sold for: one value, or the neighbours that rounding leaves open. Micro-dollars. */
export interface SaleValue {
  low: bigint;
  high: bigint;
}

/** What selling a whole position pays after the fee. What the bounds of the price keep from being sold pays nothing. */
export function saleValueOf(state: State, { maker }: Market, { side, shares }: Position): SaleValue {
  const feeBps = BigInt(state.policy.feeBps);
  const net = (gross: bigint) => gross - ceilDivide(gross * feeBps, 10_000n);
  const [least, most] = sellableOf(maker, side, shares);
  return { low: net(proceedsOf(maker, side, least, smaller)), high: net(proceedsOf(maker, side, most, larger)) };
}

export function sumOf(values: readonly SaleValue[]): SaleValue {
  return { low: sum(values.map(({ low }) => low)), high: sum(values.map(({ high }) => high)) };
}

type Pick = (a: bigint, b: bigint) => bigint;

function proceedsOf(maker: Maker, side: Side, shares: bigint, pick: Pick): bigint {
  if (shares === 0n) return 0n;
  return larger(
    0n,
    sell(maker, side, shares)
      .map(({ out }) => out)
      .reduce(pick),
  );
}

/** The shares that can surely be sold, and those that may be: the price is too close to its bound to tell in between. */
function sellableOf(maker: Maker, side: Side, shares: bigint): [bigint, bigint] {
  const verdicts = (micro: bigint) => sell(maker, side, micro).map(({ pool }) => isWithinBounds({ ...maker, ...pool }));
  const most = (isSellable: (micro: bigint) => boolean) => {
    if (shares === 0n || isSellable(shares)) return shares;
    let [sold, refused] = [0n, shares];
    while (refused - sold > 1n) {
      const middle = (sold + refused) / 2n;
      if (isSellable(middle)) sold = middle;
      else refused = middle;
    }
    return sold;
  };
  return [
    most((micro) => verdicts(micro).every((within) => within === true)),
    most((micro) => verdicts(micro).some((within) => within !== false)),
  ];
}
