import { Fault } from "../domain/fault.ts";
import { buyShares, MAX_PRICE, MIN_PRICE, requireTradable, statusAt, yesPriceOf } from "../domain/market.ts";
import { averagePrice, decimalFromMicro, feeOn, limitFromUsd, roundPrice } from "../domain/money.ts";
import { exposureCapMicro, requireEligible } from "../domain/trader.ts";
import type { PlaceTrade, TradeResult } from "./commands.ts";
import type { Draft } from "./draft.ts";
import { requireMarket, requireTenant } from "./markets.ts";
import { escrowOf, FEES, type Portfolio, type Position, positionKey, walletOf } from "./rows.ts";
import { newTrader } from "./traders.ts";

const EMPTY_PORTFOLIO: Portfolio = { positions: new Map(), exposureMicro: 0n };

/**
 * Buys shares for `amountMicro`, fee included. Refusals in the documented order: market, its state, the user's
 * standing, then limits, funds and the price bound.
 */
export function placeTrade(draft: Draft, command: PlaceTrade, now: number): TradeResult {
  const { marketId, traderId, side, amountMicro } = command;
  const { market, book } = requireMarket(draft, marketId);
  requireTradable(statusAt({ status: book.status, closeAt: market.closeAt }, now));

  const tenant = requireTenant(draft);
  const { policy } = tenant;
  const trader = draft.get("trader", traderId) ?? newTrader(traderId, now);
  requireEligible(trader, policy, { kycRequired: tenant.kycRequired, claimed: command.claimedJurisdiction });

  if (amountMicro > limitFromUsd(policy.maxTradeUsd))
    throw new Fault("MAX_TRADE_EXCEEDED", `Amount is over the limit of ${policy.maxTradeUsd} USD per trade`);
  const portfolio = draft.get("portfolio", traderId) ?? EMPTY_PORTFOLIO;
  const capMicro = exposureCapMicro(trader, policy);
  if (portfolio.exposureMicro + amountMicro > capMicro)
    throw new Fault(
      "EXPOSURE_EXCEEDED",
      `The trade would take exposure over the cap of ${decimalFromMicro(capMicro)} USD`,
    );

  const feeMicro = feeOn(amountMicro, policy.feeBps);
  const netMicro = amountMicro - feeMicro;
  const wallet = walletOf(traderId);
  if (draft.account(wallet).balanceMicro < amountMicro) throw new Fault("INSUFFICIENT_FUNDS", "Not enough funds");
  if (netMicro <= 0n) throw new Fault("AMOUNT_TOO_SMALL", "Amount does not exceed the fee");
  const { sharesMicro, pool } = buyShares(market, book, side, netMicro);
  if (sharesMicro <= 0n) throw new Fault("AMOUNT_TOO_SMALL", "Amount buys no share");
  const price = yesPriceOf(market, pool);
  if (!(price >= MIN_PRICE && price <= MAX_PRICE))
    throw new Fault("PRICE_BOUND", `The trade would move the price outside ${MIN_PRICE} to ${MAX_PRICE}`);

  draft.transfer(wallet, escrowOf(marketId), netMicro);
  draft.transfer(wallet, FEES, feeMicro);
  draft.put("book", marketId, { ...book, ...pool, volumeMicro: book.volumeMicro + amountMicro });
  const position = addToPortfolio(draft, portfolio, { marketId, traderId, side, sharesMicro, costMicro: amountMicro });
  if (trader.version === 0 && !draft.get("trader", traderId)) draft.put("trader", traderId, trader);
  draft.before = market.closeAt;

  const yesPriceAfter = roundPrice(price);
  draft.trades.push({
    id: command.id,
    marketId,
    traderId,
    side,
    amountMicro,
    feeMicro,
    sharesMicro,
    yesPricePpm: Math.round(yesPriceAfter * 1e6),
    ts: now,
  });
  draft.record("trade.executed", {
    tradeId: command.id,
    marketId,
    userId: traderId,
    side,
    amount: decimalFromMicro(amountMicro),
    fee: decimalFromMicro(feeMicro),
    shares: decimalFromMicro(sharesMicro),
    yesPriceAfter: String(yesPriceAfter),
  });
  return {
    tradeId: command.id,
    marketId,
    side,
    amountMicro,
    feeMicro,
    sharesMicro,
    avgPrice: averagePrice(amountMicro, sharesMicro),
    yesPriceAfter,
    ts: now,
    position: { sharesMicro: position.sharesMicro, costMicro: position.costMicro },
  };
}

function addToPortfolio(draft: Draft, portfolio: Portfolio, bought: Omit<Position, "version">): Position {
  const key = positionKey(bought.marketId, bought.side);
  const held = portfolio.positions.get(key);
  const position: Position = {
    ...bought,
    sharesMicro: (held?.sharesMicro ?? 0n) + bought.sharesMicro,
    costMicro: (held?.costMicro ?? 0n) + bought.costMicro,
    version: held?.version ?? 0,
  };
  draft.put("position", `${bought.traderId}/${key}`, position);
  draft.put("portfolio", bought.traderId, {
    positions: new Map(portfolio.positions).set(key, position),
    exposureMicro: portfolio.exposureMicro + bought.costMicro,
  });
  return position;
}
