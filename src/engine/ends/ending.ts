import { escrowOf, FEES, receivableOf, TREASURY, walletOf } from "../../domain/accounts.ts";
import { changeByUser, type EndSums, endSums, paidTo } from "../../domain/market/ends.ts";
import type { Owned } from "../../domain/market/holding.ts";
import type { Outcome } from "../../domain/market/outcome.ts";
import type { Reader, Transfer } from "../draft.ts";
import type { MarketEnd } from "../market-rows.ts";
import { type Market, type MarketState, positionKey } from "../rows.ts";

/** A market with all its positions. */
export interface Ending {
  market: Market;
  marketState: MarketState;
  holders: readonly Owned[];
}

/** The market as an end pays it; undefined for an unknown one. Fees are 0 where their rows were not needed. */
export function endingOf(state: Reader, marketId: string): Ending | undefined {
  const [market, marketState] = [state.get("market", marketId), state.get("marketState", marketId)];
  if (!market || !marketState) return undefined;
  const holders = (state.get("holders", marketId) ?? []).map(({ traderId, side, sharesMicro, costMicro }) => {
    const { feeMicro = 0n } = state.get("positionFee", positionKey(traderId, marketId, side)) ?? {};
    return { traderId, side, sharesMicro, costMicro, feeMicro };
  });
  return { market, marketState, holders };
}

/** The row of an end with this outcome. */
export function endRow(
  ending: Ending,
  outcome: Outcome,
  sums = sumsOf(ending, outcome),
): Omit<MarketEnd, "reason" | "corrections" | "version"> {
  const { payouts, paidMicro, feesMicro, treasuryMicro } = sums;
  return { marketId: ending.market.id, payouts, paidMicro, feesMicro, treasuryMicro };
}

/** The sums of the market's end with this outcome. */
export function sumsOf({ market, marketState, holders }: Ending, outcome: Outcome): EndSums {
  const { yesMicro, noMicro } = marketState;
  return endSums({ ...market, yesMicro, noMicro }, holders, outcome);
}

/**
 * What an end moves: in a void the fees of the open positions go back into the escrow, and the treasury adds what it
 * lacks. Then each position is paid, and the rest returns to the treasury.
 */
export function movesOfEnd(ending: Ending, outcome: Outcome, sums = sumsOf(ending, outcome)): Transfer[] {
  const { market, holders } = ending;
  const { feesMicro, treasuryMicro } = sums;
  const escrow = escrowOf(market.id);
  const moves = [move(TREASURY, escrow, -treasuryMicro), move(FEES, escrow, feesMicro)];
  for (const holder of holders) moves.push(move(escrow, walletOf(holder.traderId), paidTo(holder, outcome)));
  moves.push(move(escrow, TREASURY, treasuryMicro));
  return moves.filter(isAboveZero);
}

/** The effect of a correction: its transfers, and their sums in micro-dollars. */
export interface Correction {
  moves: Transfer[];
  users: number;
  takenBackMicro: bigint;
  /** The part of it that wallets did not hold: the users owe it. */
  receivablesMicro: bigint;
  paidMicro: bigint;
  /** What goes back to the house's fees; negative for what they give. */
  feesMicro: bigint;
  /** What goes to the treasury; negative for what it adds. */
  treasuryMicro: bigint;
}

/**
 * What turns one end of a market into another. A user who gets less gives it back from the wallet, and owes what the
 * wallet lacks. A user who gets more first repays debts. All of it goes through the treasury, which keeps or adds the
 * rest, and returns or takes the difference of the fees.
 * @param balanceOf the balance of a wallet or a receivable, in micro-dollars
 */
export function correctionOf(
  ending: Ending,
  { from, to }: { from: Outcome; to: Outcome },
  balanceOf: (account: string) => bigint,
): Correction {
  const changes = changeByUser(ending.holders, from, to);
  const [last, next] = [sumsOf(ending, from), sumsOf(ending, to)];
  const treasuryMicro = next.treasuryMicro - last.treasuryMicro;
  const feesBackMicro = next.feesMicro - last.feesMicro;
  let [takenBackMicro, receivablesMicro, paidMicro] = [0n, 0n, 0n];
  const taken: Transfer[] = [];
  const paid: Transfer[] = [];
  for (const [traderId, changeMicro] of changes) {
    const [wallet, receivable] = [walletOf(traderId), receivableOf(traderId)];
    if (changeMicro < 0n) {
      const heldMicro = smaller(balanceOf(wallet), -changeMicro);
      taken.push(move(wallet, TREASURY, heldMicro), move(receivable, TREASURY, -changeMicro - heldMicro));
      takenBackMicro -= changeMicro;
      receivablesMicro += -changeMicro - heldMicro;
    } else {
      const repaidMicro = smaller(-balanceOf(receivable), changeMicro);
      paid.push(move(TREASURY, receivable, repaidMicro), move(TREASURY, wallet, changeMicro - repaidMicro));
      paidMicro += changeMicro;
    }
  }
  const fees = [move(FEES, TREASURY, feesBackMicro), move(TREASURY, FEES, -feesBackMicro)];
  const moves = [...taken, ...fees, ...paid].filter(isAboveZero);
  const sums = { takenBackMicro, receivablesMicro, paidMicro, feesMicro: -feesBackMicro, treasuryMicro };
  return { moves, users: changes.size, ...sums };
}

const move = (debit: string, credit: string, amountMicro: bigint): Transfer => ({ debit, credit, amountMicro });
const isAboveZero = ({ amountMicro }: Transfer): boolean => amountMicro > 0n;
const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b);
