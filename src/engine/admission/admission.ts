import { walletOf } from "../../domain/accounts.ts";
import { Fault, type Refuse } from "../../domain/fault.ts";
import { requireTradable, statusAt } from "../../domain/market/market.ts";
import { decimalFromMicro, limitFromUsd } from "../../domain/money.ts";
import { type Policy, policyAt } from "../../domain/policy/policy.ts";
import { exposureCap, requireEligible, requireUnrestricted } from "../../domain/trader.ts";
import { requireTenant } from "../command.ts";
import { insufficientFunds, type Reader } from "../draft.ts";
import type { Market, MarketState, Portfolio, Trader } from "../rows.ts";
import { newTrader } from "../traders.ts";

// The rules that admit a user's actions, one list for each action. A rule passes its refusal to `refuse`: an action
// throws the first, and `eligibilityOf` collects all. So each rule must also hold its sense after one that refused.

/** A market and its state. */
export interface FoundMarket {
  market: Market;
  marketState: MarketState;
}

/** Who trades, and under which policy. */
export interface Admitted {
  /** The policy in force at this instant: an ended override does not count, even if its end is not recorded yet. */
  policy: Policy;
  /** Undefined for a quote without a user, which skips the rules about users. */
  trader: Trader | undefined;
  /** The jurisdiction claimed by the user's token, if it decided: see `claimThatDecides`. */
  claimed: string | undefined;
}

interface Claim {
  /** The jurisdiction in the user's token, which counts if the KYC event named none. */
  claimedJurisdiction: string | undefined;
}

export const EMPTY_PORTFOLIO: Portfolio = { exposureMicro: 0n };

/**
 * The rules of a purchase before its price counts, in the order of refusals: the market's state, the user's state,
 * limits, funds.
 * @param found undefined for the rules that hold in every market
 */
export function admitPurchase(
  state: Reader,
  found: FoundMarket | undefined,
  terms: Claim & { amountMicro: bigint },
  traderId: string | undefined,
  now: number,
  refuse: Refuse,
): Admitted {
  const admitted = admit(state, found, terms, traderId, now, refuse);
  const { policy, trader } = admitted;
  const { amountMicro } = terms;
  if (amountMicro > limitFromUsd(policy.maxTradeUsd))
    refuse(
      new Fault("MAX_TRADE_EXCEEDED", `Amount is over the limit of ${policy.maxTradeUsd} USD per trade`, {
        detail: bound("policy.maxTradeUsd", String(policy.maxTradeUsd), decimalFromMicro(amountMicro)),
      }),
    );
  if (trader) {
    const { exposureMicro } = state.get("portfolio", trader.id) ?? EMPTY_PORTFOLIO;
    const { capMicro, field } = exposureCap(trader, policy);
    if (exposureMicro + amountMicro > capMicro)
      refuse(
        new Fault(
          "EXPOSURE_EXCEEDED",
          `The trade would take exposure over the cap of ${decimalFromMicro(capMicro)} USD`,
          { detail: bound(field, decimalFromMicro(capMicro), decimalFromMicro(exposureMicro + amountMicro)) },
        ),
      );
    requireFunds(state, trader.id, amountMicro, refuse);
  }
  return admitted;
}

/** The rules of a sale before its price counts: those of a purchase, with holdings in place of limits and funds. */
export function admitSale(
  state: Reader,
  found: FoundMarket | undefined,
  terms: Claim & { sharesMicro: bigint; heldMicro: bigint },
  traderId: string | undefined,
  now: number,
  refuse: Refuse,
): Admitted {
  const admitted = admit(state, found, terms, traderId, now, refuse);
  const { sharesMicro, heldMicro } = terms;
  if (admitted.trader && heldMicro < sharesMicro)
    refuse(
      new Fault("INSUFFICIENT_SHARES", "Not enough shares", {
        detail: { limit: decimalFromMicro(heldMicro), value: decimalFromMicro(sharesMicro) },
      }),
    );
  return admitted;
}

/** The rules of a withdrawal in the order of refusals: the user's state, then funds. */
export function admitWithdrawal(state: Reader, traderId: string, amountMicro: bigint, refuse: Refuse): void {
  const trader = state.get("trader", traderId);
  if (trader) requireUnrestricted(trader, refuse);
  requireFunds(state, traderId, amountMicro, refuse);
}

/** The common rules of buying and selling: a market that trades, and a user who may trade. */
function admit(
  state: Reader,
  found: FoundMarket | undefined,
  { claimedJurisdiction }: Claim,
  traderId: string | undefined,
  now: number,
  refuse: Refuse,
): Admitted {
  if (found) {
    const { market, marketState } = found;
    requireTradable(statusAt({ status: marketState.status, closeAt: market.closeAt }, now), market.closeAt, refuse);
  }
  const tenant = requireTenant(state);
  const policy = policyAt(tenant, now);
  if (traderId === undefined) return { policy, trader: undefined, claimed: undefined };
  const trader = state.get("trader", traderId) ?? newTrader(traderId, now);
  requireEligible(trader, policy, { kycRequired: tenant.kycRequired, claimed: claimedJurisdiction }, refuse);
  return { policy, trader, claimed: claimThatDecides(trader, policy, claimedJurisdiction) };
}

/** The token's claim counts only if the policy requires a jurisdiction and the identity check named none. */
function claimThatDecides({ jurisdiction }: Trader, policy: Policy, claimed: string | undefined): string | undefined {
  const { allowed, blocked } = policy.jurisdictions;
  return jurisdiction === null && allowed.length + blocked.length > 0 ? claimed : undefined;
}

function requireFunds(state: Reader, traderId: string, amountMicro: bigint, refuse: Refuse): void {
  const balanceMicro = state.get("account", walletOf(traderId))?.balanceMicro ?? 0n;
  if (balanceMicro < amountMicro) refuse(insufficientFunds(balanceMicro, amountMicro));
}

/**
 * The detail of an exceeded bound for `pmctl why`: the field that states it, the limit and the value. Amounts are decimals.
 */
export function bound(field: string, limit: string, value: string): { field: string; limit: string; value: string } {
  return { field, limit, value };
}
