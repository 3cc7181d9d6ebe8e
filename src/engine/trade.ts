import { escrowOf, FEES, walletOf } from "../domain/accounts.ts";
import { invariant } from "../domain/fault.ts";
import type { HedgeRef } from "../domain/market/hedge.ts";
import type { Side } from "../domain/market/market.ts";
import { continueDay, continueHour, NO_DAY } from "../domain/market/running-sums.ts";
import { decimalFromMicro } from "../domain/money.ts";
import { startOfDay, startOfHour } from "../domain/time/units.ts";
import { type CommandKind, marketNeeds, need, TENANT } from "./command.ts";
import type { Draft } from "./draft.ts";
import { type BuyTerms, type Fill, fillBuy, fillSell, portfolioAfter, type SellTerms } from "./fill.ts";
import { type Need, type Position, positionKey } from "./rows.ts";
import { ensureTrader } from "./traders.ts";

interface PlaceTrade extends BuyTerms {
  id: string;
  traderId: string;
  hedgeRef?: HedgeRef | undefined;
}

interface SellShares extends SellTerms {
  id: string;
  traderId: string;
}

export interface TradeResult {
  tradeId: string;
  marketId: string;
  side: Side;
  action: "buy" | "sell";
  /** A buyer's payment, fee included, or a seller's proceeds before the fee. */
  amountMicro: bigint;
  feeMicro: bigint;
  sharesMicro: bigint;
  avgPrice: number;
  yesPriceAfter: number;
  ts: number;
  position: { sharesMicro: bigint; costMicro: bigint };
  /** A seller's proceeds after the fee, less the shares' cost; null for a buyer. */
  realizedMicro: bigint | null;
  hedgeRef: HedgeRef | null;
}

const FEES_ACCOUNT = need("account", FEES);

function needsOfTrade({ marketId, traderId }: PlaceTrade | SellShares): Need[] {
  return [
    TENANT,
    ...marketNeeds(marketId),
    need("trader", traderId),
    need("portfolio", traderId),
    need("account", walletOf(traderId)),
    need("account", escrowOf(marketId)),
    FEES_ACCOUNT,
  ];
}

/**
 * Buys shares for `amountMicro`, fee included: each net dollar mints a complete set into the pool, and the trader's
 * shares leave the pool.
 * @throws Fault see `fillBuy`
 */
export const placeTrade: CommandKind<PlaceTrade, TradeResult> = {
  needs: needsOfTrade,
  decide(draft, command, now) {
    const { marketId, traderId, amountMicro } = command;
    const fill = fillBuy(draft, command, traderId, now);
    const wallet = walletOf(traderId);
    draft.transfer(wallet, escrowOf(marketId), amountMicro - fill.feeMicro);
    draft.transfer(wallet, FEES, fill.feeMicro);
    ensureTrader(draft, traderId, now);
    const held = heldOf(draft, command);
    const change = {
      sharesMicro: held.sharesMicro + fill.sharesMicro,
      costMicro: held.costMicro + amountMicro,
    };
    return recordTrade(draft, command, fill, {
      held,
      change,
      releasedMicro: null,
      hedgeRef: command.hedgeRef ?? null,
    });
  },
};

/**
 * Sells shares back to the pool: as many complete sets as the proceeds have dollars are burned, and the escrow pays them
 * out. The position gives up its cost in proportion, rounded down, so that the remaining cost is never understated.
 * @throws Fault see `fillSell`
 */
export const sellShares: CommandKind<SellShares, TradeResult> = {
  needs: needsOfTrade,
  decide(draft, command, now) {
    const { marketId, traderId, sharesMicro } = command;
    const fill = fillSell(draft, command, traderId, now);
    const held = heldOf(draft, command);
    invariant(sharesMicro > 0n && held.sharesMicro >= sharesMicro, "only shares that are held can be sold");
    const releasedMicro = (held.costMicro * sharesMicro) / held.sharesMicro;
    const escrow = escrowOf(marketId);
    draft.transfer(escrow, walletOf(traderId), fill.amountMicro - fill.feeMicro);
    draft.transfer(escrow, FEES, fill.feeMicro);
    const change = {
      sharesMicro: held.sharesMicro - sharesMicro,
      costMicro: held.costMicro - releasedMicro,
    };
    return recordTrade(draft, command, fill, { held, change, releasedMicro, hedgeRef: null });
  },
};

/** The position before the trade; empty if there is none. */
function heldOf(draft: Draft, { traderId, marketId, side }: PlaceTrade | SellShares): Position {
  const held = draft.get("position", positionKey(traderId, marketId, side));
  return held ?? { marketId, traderId, side, sharesMicro: 0n, costMicro: 0n, version: 0, ...NO_DAY };
}

/** Replaces the position and adjusts the trader's exposure to its cost. */
function putPosition(draft: Draft, held: Position, position: Position): void {
  const { traderId, marketId, side } = held;
  draft.put("position", positionKey(traderId, marketId, side), position);
  const addedMicro = position.costMicro - held.costMicro;
  draft.put("portfolio", traderId, portfolioAfter(draft.get("portfolio", traderId), addedMicro));
}

/** A trade's effect on a position, and further fields of the trade's row. */
interface Change {
  held: Position;
  change: Pick<Position, "sharesMicro" | "costMicro">;
  releasedMicro: bigint | null;
  hedgeRef: HedgeRef | null;
}

/** Records a trade of either kind: the position, the market's state, the journal of shares, the audit entry. */
function recordTrade(
  draft: Draft,
  { id, marketId, traderId, side }: PlaceTrade | SellShares,
  { market, marketState, pool, amountMicro, feeMicro, sharesMicro, avgPrice, yesPriceAfter, claimed }: Fill,
  { held, change, releasedMicro, hedgeRef }: Change,
): TradeResult {
  const { ts } = draft;
  draft.before = market.closeAt;
  const yesPricePpm = Math.round(yesPriceAfter * 1e6);
  // A sale realises its net proceeds less the released cost of the position; a purchase realises nothing.
  const realizedMicro = releasedMicro === null ? null : amountMicro - feeMicro - releasedMicro;
  const day = continueDay(held, {
    day: startOfDay(ts),
    dayVolumeMicro: amountMicro,
    dayTrades: 1,
    dayRealizedMicro: realizedMicro ?? 0n,
  });
  const hour = continueHour(marketState, {
    hour: startOfHour(ts),
    hourVolumeMicro: amountMicro,
    hourFeeMicro: feeMicro,
    yesPricePpm,
  });
  putPosition(draft, held, { ...held, ...day.running, ...change });
  draft.put("marketState", marketId, {
    ...marketState,
    ...hour.running,
    ...pool,
    volumeMicro: marketState.volumeMicro + amountMicro,
  });
  draft.trades.push({
    id,
    marketId,
    traderId,
    side,
    amountMicro,
    feeMicro,
    sharesMicro,
    releasedMicro,
    hedgeRef,
    yesPricePpm,
    ts,
    hourOver: hour.over && { marketId, ...hour.over },
    dayOver: day.over && { traderId, marketId, ...day.over },
  });
  // In the order of the stored text, so that the fields need no sorting.
  draft.record("trade.executed", {
    action: releasedMicro === null ? undefined : "sell",
    amount: decimalFromMicro(amountMicro),
    cost: releasedMicro === null ? undefined : decimalFromMicro(releasedMicro),
    fee: decimalFromMicro(feeMicro),
    hedgeRef: hedgeRef ?? undefined,
    jurisdiction: claimed,
    marketId,
    shares: decimalFromMicro(sharesMicro),
    side,
    tradeId: id,
    userId: traderId,
    yesPriceAfter: String(yesPriceAfter),
  });
  return {
    tradeId: id,
    marketId,
    side,
    action: releasedMicro === null ? "buy" : "sell",
    amountMicro,
    feeMicro,
    sharesMicro,
    avgPrice,
    yesPriceAfter,
    ts,
    position: change,
    realizedMicro,
    hedgeRef,
  };
}
