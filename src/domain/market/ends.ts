import type { Holding, Owned } from "./holding.ts";
import { type Outcome, paidPpm } from "./outcome.ts";
import type { Opening, Pool } from "./pool.ts";

/** A market's own part of the shares: its pool, and the rest of the complete sets that opened it. */
export interface HouseShares extends Pool, Pick<Opening, "fundMicro"> {
  houseYesMicro: bigint;
  houseNoMicro: bigint;
}

/** What a position is paid, in micro-dollars, by source. */
export interface Payout {
  escrowMicro: bigint;
  feesMicro: bigint;
}

/**
 * What a position gets: a dollar for each winning share, its part of it at a fraction (rounded down), or in a void what
 * the shares cost; the fees in it come back from the house's fees.
 */
export function payoutOf({ side, sharesMicro, costMicro, feeMicro }: Holding, outcome: Outcome): Payout {
  if (sharesMicro === 0n) return { escrowMicro: 0n, feesMicro: 0n };
  if (outcome === "void") return { escrowMicro: costMicro - feeMicro, feesMicro: feeMicro };
  return { escrowMicro: (sharesMicro * BigInt(paidPpm(side, outcome))) / 1_000_000n, feesMicro: 0n };
}

/** What a position is paid in all. */
export function paidTo(holding: Holding, outcome: Outcome): bigint {
  const { escrowMicro, feesMicro } = payoutOf(holding, outcome);
  return escrowMicro + feesMicro;
}

/** What a market's positions are paid in all, in micro-dollars. */
export interface Payments {
  /** Positions that are paid more than 0. */
  payouts: number;
  paidMicro: bigint;
  /** The part of it that comes from the house's fees. */
  feesMicro: bigint;
}

/** The sums of a market's end, in micro-dollars. */
export interface EndSums extends Payments {
  /** What the escrow held before. */
  escrowMicro: bigint;
  /** What goes to the treasury; negative for what it adds in a void. */
  treasuryMicro: bigint;
  /** That less the liquidity: the house's gain, or its loss as a negative number. No fee is in it. */
  houseResultMicro: bigint;
}

/** The sums of an end with this outcome. All YES shares together are the escrow, as are all NO shares. */
export function endSums(house: HouseShares, holdings: Iterable<Holding>, outcome: Outcome): EndSums {
  let payouts = 0;
  let [paidMicro, feesMicro, heldYesMicro] = [0n, 0n, 0n];
  for (const holding of holdings) {
    if (holding.side === "yes") heldYesMicro += holding.sharesMicro;
    const payout = payoutOf(holding, outcome);
    if (payout.escrowMicro + payout.feesMicro > 0n) payouts += 1;
    paidMicro += payout.escrowMicro + payout.feesMicro;
    feesMicro += payout.feesMicro;
  }
  const escrowMicro = house.yesMicro + house.houseYesMicro + heldYesMicro;
  return endOf({ payouts, paidMicro, feesMicro }, { escrowMicro, fundMicro: house.fundMicro });
}

/** The sums of an end that makes these payments out of an escrow. */
export function endOf(
  payments: Payments,
  { escrowMicro, fundMicro }: Pick<EndSums, "escrowMicro"> & Pick<Opening, "fundMicro">,
): EndSums {
  const treasuryMicro = escrowMicro - (payments.paidMicro - payments.feesMicro);
  return { ...payments, escrowMicro, treasuryMicro, houseResultMicro: treasuryMicro - fundMicro };
}

/** A sum as what one side gives and the other gets: at most one of both is above 0. */
export function fromAndTo(treasuryMicro: bigint): { fromTreasuryMicro: bigint; toTreasuryMicro: bigint } {
  return treasuryMicro < 0n
    ? { fromTreasuryMicro: -treasuryMicro, toTreasuryMicro: 0n }
    : { fromTreasuryMicro: 0n, toTreasuryMicro: treasuryMicro };
}

/**
 * What an end changes for each user, both sides together, in micro-dollars: above 0 is paid, below 0 taken back.
 * @param from the outcome that is corrected; undefined for a market that had none
 */
export function changeByUser(holdings: Iterable<Owned>, from: Outcome | undefined, to: Outcome): Map<string, bigint> {
  const changes = new Map<string, bigint>();
  for (const holding of holdings) {
    const changeMicro = paidTo(holding, to) - (from === undefined ? 0n : paidTo(holding, from));
    changes.set(holding.traderId, (changes.get(holding.traderId) ?? 0n) + changeMicro);
  }
  for (const [traderId, changeMicro] of changes) if (changeMicro === 0n) changes.delete(traderId);
  return changes;
}
