import { buyCpmm, cpmmSpendTo, cpmmYesPrice, openCpmm, sellCpmm } from "./cpmm.ts";
import { buyLmsr, lmsrLiquidity, lmsrSpendTo, lmsrYesPrice, openLmsr, sellLmsr } from "./lmsr.ts";
import type { Bought, Opening, Pool, Side, Sold } from "./pool.ts";

/** How one kind of market maker prices its pool. `opening` holds the market's opening terms. */
interface MarketMaker {
  /** The kind's name in the documentation. */
  title: string;
  open: (opening: Opening) => Pool;
  yesPrice: (opening: Opening, pool: Pool) => number;
  buy: (opening: Opening, pool: Pool, side: Side, netMicro: bigint) => Bought;
  sell: (opening: Opening, pool: Pool, side: Side, sharesMicro: bigint) => Sold;
  spendTo: (opening: Opening, pool: Pool, side: Side, target: number) => number;
}

/** Every kind of market maker. A new kind is an entry here and a migration for the constraint `market_kind_known`. */
export const MARKET_MAKERS = {
  cpmm: {
    title: "constant product",
    open: ({ fundMicro, p0Ppm }) => openCpmm(fundMicro, p0Ppm),
    yesPrice: (_, pool) => cpmmYesPrice(pool),
    buy: (_, pool, side, netMicro) => buyCpmm(pool, side, netMicro),
    sell: (_, pool, side, sharesMicro) => sellCpmm(pool, side, sharesMicro),
    spendTo: (_, pool, side, target) => cpmmSpendTo(pool, side, target),
  },
  lmsr: {
    title: "logarithmic",
    open: ({ fundMicro, p0Ppm }) => openLmsr(fundMicro, p0Ppm),
    yesPrice: (opening, pool) => lmsrYesPrice(lmsrLiquidity(opening), pool),
    buy: (opening, pool, side, netMicro) => buyLmsr(lmsrLiquidity(opening), pool, side, netMicro),
    sell: (opening, pool, side, sharesMicro) => sellLmsr(lmsrLiquidity(opening), pool, side, sharesMicro),
    spendTo: (opening, pool, side, target) => lmsrSpendTo(lmsrLiquidity(opening), pool, side, target),
  },
} satisfies Record<string, MarketMaker>;

export type MarketKind = keyof typeof MARKET_MAKERS;
export const MARKET_KINDS = Object.keys(MARKET_MAKERS) as MarketKind[];
