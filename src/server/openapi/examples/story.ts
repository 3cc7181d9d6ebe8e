import { endSums } from "../../../domain/market/ends.ts";
import { buyShares, type Mechanism, openPool, pricesOf, yesPriceOf } from "../../../domain/market/market.ts";
import type { Outcome } from "../../../domain/market/outcome.ts";
import { sellValueOf } from "../../../domain/market/sale.ts";
import { averagePrice, feeOn, roundPrice, usdFromMicro } from "../../../domain/money.ts";
import { DEFAULT_POLICY } from "../../../domain/policy/policy.ts";

/*
 * The story of all examples in the documentation: a market that has just been opened, a user with $250, and the user's
 * first purchase. The rules of a trade compute its figures, so the examples agree with each other and with the service.
 */

const AMOUNT_MICRO = 25_000_000n;
const DEPOSIT_MICRO = 250_000_000n;
const { feeBps } = DEFAULT_POLICY;

export const MECHANISM: Mechanism = { kind: "cpmm", fundMicro: 1_000_000_000n, p0Ppm: 500_000 };
const opening = openPool(MECHANISM);
const feeMicro = feeOn(AMOUNT_MICRO, feeBps);
const { sharesMicro, pool } = buyShares(MECHANISM, opening, "yes", AMOUNT_MICRO - feeMicro);
const sellMicro = sellValueOf(MECHANISM, pool, "yes", sharesMicro, feeBps);

export const POOL = pool;
export const PRICES = pricesOf(MECHANISM, pool);

export const CREATED_AT = "2026-01-01T12:00:00.000Z";
export const DEPOSITED_AT = "2026-01-01T12:01:00.000Z";
export const TRADED_AT = "2026-01-01T12:05:00.000Z";
export const CLOSE_AT = "2031-01-31T18:00:00.000Z";
export const SETTLED_AT = "2031-01-31T18:00:20.000Z";
export const CORRECTED_AT = "2031-01-31T20:00:00.000Z";
export const CORRECTABLE_UNTIL = "2031-02-03T18:00:20.000Z";

export const MARKET = "mkt_019f2c3a7b";
export const QUESTION = "Will BTC close above 100,000?";
export const REFERENCE = "pm:btc > 100000";
export const CLARIFICATION = {
  id: "clr_019f2c8e45",
  text: "The price of the last trade before the closing time counts.",
  at: "2026-01-01T12:10:00.000Z",
};
export const USER = "usr_1";
export const TRADE = "trd_019f2c4b10";

const [amount, fee, shares] = [usdFromMicro(AMOUNT_MICRO), usdFromMicro(feeMicro), usdFromMicro(sharesMicro)];
export const SHARES = shares;

/** The purchase's figures, as its quote and its trade state them. */
export const FILL = {
  marketId: MARKET,
  side: "yes" as const,
  action: "buy" as const,
  amount,
  shares,
  avgPrice: averagePrice(AMOUNT_MICRO, sharesMicro),
  ts: TRADED_AT,
  fee,
  yesPriceAfter: PRICES.yes,
};
export const YES_BEFORE = roundPrice(yesPriceOf(MECHANISM, opening));
export const PRICE_IMPACT = roundPrice(Math.abs(PRICES.yes - YES_BEFORE));

const markedMicro = (sharesMicro * BigInt(Math.round(PRICES.yes * 1e6))) / 1_000_000n;
export const WORTH = usdFromMicro(markedMicro);
export const UNREALIZED = usdFromMicro(markedMicro - AMOUNT_MICRO);
export const SELL_VALUE = usdFromMicro(sellMicro);
export const SELL_PNL = usdFromMicro(sellMicro - AMOUNT_MICRO);

export const DEPOSIT = usdFromMicro(DEPOSIT_MICRO);
export const BALANCE = usdFromMicro(DEPOSIT_MICRO - AMOUNT_MICRO);
export const WALLET = { balanceUsd: BALANCE, exposureUsd: amount, pendingWithdrawalsUsd: 0, owedUsd: 0 };

/** The external position that an order in the story hedges. */
export const HEDGE = { symbol: "BTCUSD", direction: "long" as const, notional: 100_000, externalRef: "pos-7" };

/** What traders paid into the market beyond its fund, and the house's gain or loss if YES wins. */
const stakesMicro = AMOUNT_MICRO - feeMicro;
const escrowMicro = MECHANISM.fundMicro + stakesMicro;
const house = {
  houseYesMicro: MECHANISM.fundMicro - opening.yesMicro,
  houseNoMicro: MECHANISM.fundMicro - opening.noMicro,
};
const held = { side: "yes" as const, sharesMicro, costMicro: AMOUNT_MICRO, feeMicro };
const endIn = (outcome: Outcome) => endSums({ ...pool, ...house, fundMicro: MECHANISM.fundMicro }, [held], outcome);
const ifYes = endIn("yes");
export const HOUSE_IF_YES = usdFromMicro(ifYes.houseResultMicro);
export const RETURNED_IF_YES = usdFromMicro(ifYes.treasuryMicro);
export const RETURNED_IF_VOID = usdFromMicro(endIn("void").treasuryMicro);
export const ESCROW = usdFromMicro(escrowMicro);
export const LIABILITY = usdFromMicro(sharesMicro - stakesMicro);
