import type { Side } from "./pool.ts";

/** The shares of one side of a market and what they cost, in micro-shares and micro-dollars. */
export interface Holding {
  side: Side;
  sharesMicro: bigint;
  /** What the shares cost, fees included. */
  costMicro: bigint;
  /** The fees within that cost. Needed for a void alone. */
  feeMicro: bigint;
}

/** A holding with its owner. */
export interface Owned extends Holding {
  traderId: string;
}

/** What a trade changes: a purchase adds its gross amount and its fee, a sale gives up parts of both sums. */
export interface Traded {
  isSale: boolean;
  sharesMicro: bigint;
  amountMicro: bigint;
  feeMicro: bigint;
}

type Sums = Pick<Holding, "sharesMicro" | "costMicro" | "feeMicro">;

export const NOTHING_HELD: Sums = { sharesMicro: 0n, costMicro: 0n, feeMicro: 0n };

/**
 * A holding after a trade. The parts that a sale gives up are rounded down, so that the rest is never understated. A sale
 * from nothing, which only a forged record has, gives up nothing.
 */
export function afterTrade({ sharesMicro, costMicro, feeMicro }: Sums, trade: Traded): Sums {
  if (!trade.isSale)
    return {
      sharesMicro: sharesMicro + trade.sharesMicro,
      costMicro: costMicro + trade.amountMicro,
      feeMicro: feeMicro + trade.feeMicro,
    };
  const givenUp = (sum: bigint) => (sharesMicro === 0n ? 0n : (sum * trade.sharesMicro) / sharesMicro);
  return {
    sharesMicro: sharesMicro - trade.sharesMicro,
    costMicro: costMicro - givenUp(costMicro),
    feeMicro: feeMicro - givenUp(feeMicro),
  };
}
