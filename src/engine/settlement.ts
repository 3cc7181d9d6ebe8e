import { escrowOf, TREASURY, walletOf } from "../domain/accounts.ts";
import { Fault, invariant } from "../domain/fault.ts";
import type { Side } from "../domain/market/market.ts";
import { settlementSums } from "../domain/market/settlement-sums.ts";
import { decimalFromMicro } from "../domain/money.ts";
import { counted } from "../domain/text.ts";
import { type CommandKind, marketNeeds, need, requireMarket, TENANT } from "./command.ts";
import type { Draft } from "./draft.ts";
import { portfolioAfter } from "./fill.ts";
import { type Resolution, recordResolution, requireOracleMaySettle } from "./oracle.ts";
import type { Market, MarketState, Position } from "./rows.ts";

interface SettleMarket extends Resolution {
  /** The caller's expected payment; a settlement that would pay anything else is refused. */
  expect?: { payouts?: number | undefined; totalMicro?: bigint | undefined } | undefined;
}

/**
 * Pays one dollar per winning share out of the escrow; the rest belongs to the pool and the house and returns to the
 * treasury. This is exact: escrow = YES outstanding = NO outstanding, so the escrow ends at zero whichever side wins.
 */
export const settleMarket: CommandKind<
  SettleMarket,
  { id: string; outcome: Side; settledAt: number; payoutsProcessed: number }
> = {
  needs: ({ marketId, oracle }) => [
    ...marketNeeds(marketId),
    need("watch", marketId),
    need("account", escrowOf(marketId)),
    need("account", TREASURY),
    need("holders", marketId),
    // The policy says which oracle may settle.
    ...(oracle ? [TENANT] : []),
  ],
  ownBatch: true,
  decide(draft, command, now) {
    const { marketId, outcome, oracle } = command;
    const { market, marketState } = requireMarket(draft, marketId);
    if (marketState.status === "settled") throw new Fault("MARKET_SETTLED", "Market is already settled");
    if (oracle) requireOracleMaySettle(draft, { market, marketState, oracle }, now);
    const escrow = escrowOf(marketId);
    const escrowMicro = draft.account(escrow).balanceMicro;
    const holders = draft.get("holders", marketId) ?? [];

    const winners = holders.filter(({ side, sharesMicro }) => side === outcome && sharesMicro > 0n);
    requireExpected(command, winners);
    for (const { traderId, sharesMicro } of winners) draft.transfer(escrow, walletOf(traderId), sharesMicro);
    const paidMicro = escrowMicro - draft.account(escrow).balanceMicro;
    const { returnedMicro, houseResultMicro } = settlementSums(escrowMicro, paidMicro, market.fundMicro);
    invariant(
      returnedMicro === sharesLeftToHouse(market, marketState, outcome),
      `the escrow of ${marketId} covers exactly the outstanding ${outcome} shares`,
    );
    draft.transfer(escrow, TREASURY, returnedMicro);
    for (const holder of holders) closePosition(draft, holder);
    draft.put("marketState", marketId, { ...marketState, status: "settled", outcome, settledAt: now });
    draft.record("market.settled", {
      marketId,
      outcome,
      payouts: winners.length,
      paid: decimalFromMicro(paidMicro),
      returned: decimalFromMicro(returnedMicro),
      houseResult: decimalFromMicro(houseResultMicro),
    });
    recordResolution(draft, command);
    return { id: marketId, outcome, settledAt: now, payoutsProcessed: winners.length };
  },
};

/** Checked in the commit that pays, so that no trade can happen between the check and the payment. */
function requireExpected({ expect }: SettleMarket, winners: readonly Position[]): void {
  const totalMicro = winners.reduce((total, { sharesMicro }) => total + sharesMicro, 0n);
  const { payouts = winners.length, totalMicro: expectedMicro = totalMicro } = expect ?? {};
  const expected = [
    ...(payouts === winners.length ? [] : [counted(payouts, "payout")]),
    ...(expectedMicro === totalMicro ? [] : [`${decimalFromMicro(expectedMicro)} USD`]),
  ];
  if (expected.length === 0) return;
  throw new Fault(
    "EXPECTATION_NOT_MET",
    `Settling would make ${counted(winners.length, "payout")} of ${decimalFromMicro(totalMicro)} USD in all, ` +
      `which is not the expected ${expected.join(" of ")}: nothing was paid`,
  );
}

function sharesLeftToHouse(market: Market, marketState: MarketState, outcome: Side): bigint {
  return outcome === "yes" ? marketState.yesMicro + market.houseYesMicro : marketState.noMicro + market.houseNoMicro;
}

/** The row stays as history. If the exposure is in memory, it drops by the position's cost. */
function closePosition(draft: Draft, { traderId, costMicro }: Position): void {
  const portfolio = draft.get("portfolio", traderId);
  if (portfolio) draft.put("portfolio", traderId, portfolioAfter(portfolio, -costMicro));
}
