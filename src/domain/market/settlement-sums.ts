/** Where the escrow of a market goes when it is settled, in micro-dollars. Nothing of it is a fee: trades have paid theirs. */
export interface SettlementSums {
  /** The share of the pool and the house, which returns to the treasury. */
  returnedMicro: bigint;
  /** That share less the stake that opened the market: the house's gain, or its loss as a negative number. */
  houseResultMicro: bigint;
}

/** @param paidMicro to the winners, a dollar for each share */
export function settlementSums(escrowMicro: bigint, paidMicro: bigint, fundMicro: bigint): SettlementSums {
  const returnedMicro = escrowMicro - paidMicro;
  return { returnedMicro, houseResultMicro: returnedMicro - fundMicro };
}
