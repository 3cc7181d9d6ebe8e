/** A small change of the product that makes it wrong. */
export interface PlantedFault {
  name: string;
  /** Below the project's root. */
  file: string;
  /** Stands exactly once in the file. */
  right: string;
  wrong: string;
}

export const FAULTS: readonly PlantedFault[] = [
  {
    name: "a fee is rounded down",
    file: "src/domain/money.ts",
    right: "(amountMicro * BigInt(feeBps) + 9_999n) / 10_000n",
    wrong: "(amountMicro * BigInt(feeBps)) / 10_000n",
  },
  {
    name: "a micro-dollar of the escrow is lost",
    file: "src/engine/trade.ts",
    right: "draft.transfer(wallet, escrowOf(marketId), amountMicro - fill.feeMicro);",
    wrong: "draft.transfer(wallet, escrowOf(marketId), amountMicro - fill.feeMicro - 1n);",
  },
  {
    name: "an answer in memory outlives the commit that changes it",
    file: "src/services/views/commit-order.ts",
    right: "this.#touched.set(tag, position);",
    wrong: "this.#touched.set(tag, position - 1);",
  },
  {
    name: "a payout is doubled",
    file: "src/engine/ends/ending.ts",
    right:
      "for (const holder of holders) moves.push(move(escrow, walletOf(holder.traderId), paidTo(holder, outcome)));",
    wrong: `for (const holder of holders) {
    moves.push(move(escrow, walletOf(holder.traderId), paidTo(holder, outcome)));
    moves.push(move(TREASURY, walletOf(holder.traderId), paidTo(holder, outcome)));
  }`,
  },
  {
    name: "a void keeps the fees",
    file: "src/domain/market/ends.ts",
    right: "return { escrowMicro: costMicro - feeMicro, feesMicro: feeMicro };",
    wrong: "return { escrowMicro: costMicro - feeMicro, feesMicro: 0n };",
  },
  {
    name: "a fraction is rounded up",
    file: "src/domain/market/ends.ts",
    right: "(sharesMicro * BigInt(paidPpm(side, outcome))) / 1_000_000n, feesMicro: 0n",
    wrong: "(sharesMicro * BigInt(paidPpm(side, outcome)) + 999_999n) / 1_000_000n, feesMicro: 0n",
  },
  {
    name: "a purchase above 1 is executed",
    file: "src/engine/fill.ts",
    right: "if (!canPayOff(amountMicro, sharesMicro))",
    wrong: "if (sharesMicro === 0n && !canPayOff(amountMicro, sharesMicro))",
  },
  {
    name: "an output constraint that stored values leave",
    file: "src/contract/resources/wallets.ts",
    right: "exposureUsd: Usd.describe(",
    wrong: "exposureUsd: Usd.refine((micro) => micro < 100_000_000n).describe(",
  },
  {
    name: "exposure leaves the fee out",
    file: "src/engine/trade.ts",
    right: "costMicro: held.costMicro + amountMicro,",
    wrong: "costMicro: held.costMicro + amountMicro - fill.feeMicro,",
  },
  {
    name: "a sale gives up its cost rounded up",
    file: "src/engine/trade.ts",
    right: "const releasedMicro = (held.costMicro * sharesMicro) / held.sharesMicro;",
    wrong: "const releasedMicro = (held.costMicro * sharesMicro + held.sharesMicro - 1n) / held.sharesMicro;",
  },
  {
    name: "a suspended market trades",
    file: "src/domain/market/market.ts",
    right: 'if (status === "open") return;',
    wrong: 'if (status === "open" || status === "suspended") return;',
  },
  {
    name: "a rejected withdrawal is paid back again by every repeat",
    file: "src/engine/funding.ts",
    right: "if (withdrawal.status === status) return withdrawal;",
    wrong: "if (withdrawal.status === status && approve) return withdrawal;",
  },
  {
    name: "volume leaves the fee out",
    file: "src/engine/trade.ts",
    right: "volumeMicro: marketState.volumeMicro + amountMicro,",
    wrong: "volumeMicro: marketState.volumeMicro + amountMicro - feeMicro,",
  },
  {
    name: "the trade limit excludes its own value",
    file: "src/engine/admission/admission.ts",
    right: "if (amountMicro > limitFromUsd(policy.maxTradeUsd))",
    wrong: "if (amountMicro >= limitFromUsd(policy.maxTradeUsd))",
  },
  {
    name: "an older KYC result overrides a newer one",
    file: "src/engine/traders.ts",
    right: "const isNewer = verifiedAt > kycAt;",
    wrong: "const isNewer = verifiedAt !== kycAt;",
  },
  {
    name: "a deposit's reference counts per amount",
    file: "src/engine/funding.ts",
    right: "const key = referenceKey(provider, reference);",
    wrong: "const key = referenceKey(provider, reference + amountMicro);",
  },
  {
    name: "the lmsr pool rounds in favour of the trader",
    file: "src/domain/market/lmsr.ts",
    right: "const sharesMicro = BigInt(Math.floor(shares * (1 - 2 ** -50)));",
    wrong: "const sharesMicro = BigInt(Math.ceil(shares));",
  },
  {
    name: "a restriction does not stop withdrawals",
    file: "src/engine/admission/admission.ts",
    right: "if (trader) requireUnrestricted(trader, refuse);",
    wrong: "if (trader?.restricted === null) requireUnrestricted(trader, refuse);",
  },
  {
    name: "unrealised results are rounded up",
    file: "src/services/markets/positions.ts",
    right: "return (sharesMicro * BigInt(Math.round(price * 1e6))) / 1_000_000n;",
    wrong: "return (sharesMicro * BigInt(Math.round(price * 1e6)) + 999_999n) / 1_000_000n;",
  },
  {
    name: "a refund is taken back once per event",
    file: "src/engine/payments.ts",
    right: "larger(0n, larger(refundsMicro, refundTotalMicro) - refundsFailedMicro)",
    wrong: "larger(0n, refundsMicro + refundTotalMicro - refundsFailedMicro)",
  },
];
