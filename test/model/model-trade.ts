import { anyId, Between, OneOf } from "./match.ts";
import {
  buy,
  type Fill,
  isWithinBounds,
  type Maker,
  millionths,
  priceOf,
  type Side,
  sell,
  yesMillionths,
  yesPrice,
} from "./model-makers.ts";
import { ceilDivide, decimal, larger, microOf, smaller, usd } from "./model-numbers.ts";
import {
  amountOf,
  type ExpectedEntry,
  exposureOf,
  type HedgeRef,
  type Market,
  marketOf,
  type Outcome,
  type Policy,
  type Position,
  type Request,
  refuse,
  type State,
  statusesOf,
  type User,
  userOf,
} from "./model-state.ts";

/** The wishes of a trade, read from its body. */
interface Terms {
  marketId: string;
  side: Side;
  selling: boolean;
  amount: bigint;
  shares: bigint;
  maxAvgPrice?: number;
  minAvgPrice?: number;
  minProceeds?: bigint;
  minShares?: bigint;
  hedgeRef: HedgeRef | null;
}

/** Trades, orders and quotes are one computation; a quote changes nothing and may come without a user. */
export function judgeTrade(state: State, request: Request): Outcome[] {
  const terms = termsOf(request);
  if (!terms) return refuse("BAD_REQUEST");
  const market = marketOf(state, terms.marketId);
  if (!market) return refuse("MARKET_NOT_FOUND");
  return statusesOf(market, request.during).flatMap((status) => {
    if (status !== "open") return refuse(`MARKET_${status.toUpperCase()}`);
    const user = request.user === undefined ? undefined : (state.users[request.user] ?? stranger(request));
    const [standing] = user ? standingsOf(state, user, request.claimed) : [];
    if (standing) return refuse(standing);
    return terms.selling
      ? judgeSale(state, request, market, terms)
      : judgePurchase(state, request, market, terms, user);
  });
}

const stranger = ({ during }: Request): User => userOf({ users: {} } as State, "", during);

function termsOf({ operation, body }: Request): Terms | undefined {
  const { marketId, selection, hedgeRef, ...rest } = body as Record<string, unknown> & { hedgeRef?: HedgeRef };
  const { side, outcome, action = "buy" } = (selection ?? {}) as { side?: Side; outcome?: number; action?: string };
  const bySide = operation === "placeOrder" ? (outcome === 1 ? "yes" : outcome === 0 ? "no" : undefined) : side;
  if (typeof marketId !== "string" || (bySide !== "yes" && bySide !== "no")) return undefined;
  const selling = action === "sell";
  const own = amountOf(selling ? rest.shares : rest.amount);
  const foreign = selling ? ["amount", "maxAvgPrice", "minShares"] : ["shares", "minAvgPrice", "minProceeds"];
  if (own === undefined || foreign.some((field) => rest[field] !== undefined) || (selling && hedgeRef))
    return undefined;
  const price = (value: unknown) => value === undefined || (typeof value === "number" && value > 0 && value <= 1);
  if (!price(rest.maxAvgPrice) || !price(rest.minAvgPrice)) return undefined;
  return {
    marketId,
    side: bySide,
    selling,
    amount: selling ? 0n : own,
    shares: selling ? own : 0n,
    ...(rest.maxAvgPrice === undefined ? {} : { maxAvgPrice: Number(rest.maxAvgPrice) }),
    ...(rest.minAvgPrice === undefined ? {} : { minAvgPrice: Number(rest.minAvgPrice) }),
    ...(rest.minProceeds === undefined ? {} : { minProceeds: microOf(Number(rest.minProceeds)) ?? 0n }),
    ...(rest.minShares === undefined ? {} : { minShares: microOf(Number(rest.minShares)) ?? 0n }),
    hedgeRef: hedgeRef ? { ...hedgeRef, symbol: hedgeRef.symbol.toUpperCase() } : null,
  };
}

/** Why a user may not trade at all: KYC, restriction, jurisdiction, suitability. */
export function standingsOf({ kycRequired, policy }: State, user: User, claimed?: string): string[] {
  const place = placeRefusal(policy, user.jurisdiction ?? claimed?.toUpperCase());
  const { suitabilityRequired, suitabilityThresholds } = policy;
  const isUnfit = user.score === null ? suitabilityRequired : user.score < suitabilityThresholds.blockBelow;
  return [
    ...(kycRequired && user.kyc !== "verified" ? ["KYC_REQUIRED"] : []),
    ...(user.restricted ? ["ACCOUNT_RESTRICTED"] : []),
    ...(place === undefined ? [] : [place]),
    ...(isUnfit ? ["SUITABILITY_REQUIRED"] : []),
  ];
}

function placeRefusal({ jurisdictions }: Policy, at: string | undefined): string | undefined {
  const { allowed, blocked } = jurisdictions;
  const lists = (codes: string[]) => codes.some((code) => at === code || at?.startsWith(`${code}-`));
  if (allowed.length + blocked.length === 0) return undefined;
  if (at === undefined) return "JURISDICTION_UNKNOWN";
  return lists(blocked) || (allowed.length > 0 && !lists(allowed)) ? "JURISDICTION_BLOCKED" : undefined;
}

/** The cap of a score's tier, micro-dollars; null for none. */
export function tierCap(score: number, { suitabilityThresholds }: Policy): bigint | null {
  const { capUsd } = suitabilityThresholds.tiers.findLast(({ minScore }) => minScore <= score) ?? { capUsd: null };
  return capUsd === null ? null : (microOf(capUsd) ?? 0n);
}

export function exposureCap(user: User, policy: Policy): bigint {
  const cap = microOf(policy.maxUserExposureUsd) ?? 0n;
  const tier = user.score === null ? null : tierCap(user.score, policy);
  return tier === null ? cap : smaller(cap, tier);
}

/** Rounded up to a micro-dollar, against the trader. */
const feeOn = (amount: bigint, { feeBps }: Policy) => ceilDivide(amount * BigInt(feeBps), 10_000n);

function judgePurchase(
  state: State,
  request: Request,
  market: Market,
  terms: Terms,
  user: User | undefined,
): Outcome[] {
  const { policy } = state;
  const { amount, side } = terms;
  if (amount > (microOf(policy.maxTradeUsd) ?? 0n)) return refuse("MAX_TRADE_EXCEEDED");
  if (user && request.user !== undefined) {
    if (exposureOf(state, request.user) + amount > exposureCap(user, policy)) return refuse("EXPOSURE_EXCEEDED");
    if (user.balance < amount) return refuse("INSUFFICIENT_FUNDS");
  }
  const fee = feeOn(amount, policy);
  if (fee >= amount) return refuse("AMOUNT_TOO_SMALL");
  return buy(market.maker, side, amount - fee).flatMap((fill) => {
    if (fill.out <= 0n) return refuse("AMOUNT_TOO_SMALL");
    const last = fill.out < amount ? refuse("COST_EXCEEDS_PAYOUT") : undefined;
    return withinBounds(market.maker, fill, last ?? (() => afterBounds(state, request, market, terms, fee, fill)));
  });
}

function judgeSale(state: State, request: Request, market: Market, terms: Terms): Outcome[] {
  const { shares, side } = terms;
  if (request.user !== undefined && (positionOf(state, request.user, market.id, side)?.shares ?? 0n) < shares)
    return refuse("INSUFFICIENT_SHARES");
  return sell(market.maker, side, shares).flatMap((fill) => {
    const fee = feeOn(larger(fill.out, 0n), state.policy);
    if (fill.out <= fee) return refuse("AMOUNT_TOO_SMALL");
    return withinBounds(market.maker, fill, () => afterBounds(state, request, market, terms, fee, fill));
  });
}

function withinBounds(maker: Maker, fill: Fill, then: Outcome[] | (() => Outcome[])): Outcome[] {
  const within = isWithinBounds({ ...maker, ...fill.pool });
  const accepted = within === false ? [] : typeof then === "function" ? then() : then;
  return within === true ? accepted : [...accepted, ...refuse("PRICE_BOUND")];
}

/** The caller's own bounds, and then what the trade does. */
function afterBounds(state: State, request: Request, market: Market, terms: Terms, fee: bigint, fill: Fill): Outcome[] {
  const amount = terms.selling ? fill.out : terms.amount;
  const shares = terms.selling ? terms.shares : fill.out;
  const averages = millionths(amount, shares).map((ppm) => Number(ppm) / 1e6);
  const slips = averages.map(
    (average) =>
      average > (terms.maxAvgPrice ?? Number.POSITIVE_INFINITY) ||
      average < (terms.minAvgPrice ?? 0) ||
      (terms.minShares !== undefined && shares < terms.minShares) ||
      (terms.minProceeds !== undefined && amount - fee < terms.minProceeds),
  );
  const filled = slips.includes(false)
    ? [execution(state, request, market, { ...terms, amount, shares }, fee, fill)]
    : [];
  return slips.includes(true) ? [...filled, ...refuse("SLIPPAGE")] : filled;
}

/** A quote tells the two prices as they are rounded, and the distance between them. */
function impactOf(before: Maker, after: Maker) {
  const [from, to] = [yesPrice(before), yesPrice(after)];
  const impacts = millionths(from.numerator, from.denominator).flatMap((one) =>
    millionths(to.numerator, to.denominator).map((other) => Number(larger(one - other, other - one)) / 1e6),
  );
  return {
    yesPriceBefore: priceOf(from.numerator, from.denominator),
    priceImpact: new OneOf(impacts),
  };
}

export const positionOf = (state: State, user: string, marketId: string, side: Side): Position | undefined =>
  state.positions.find((each) => each.user === user && each.marketId === marketId && each.side === side);

function execution(state: State, request: Request, market: Market, terms: Terms, fee: bigint, fill: Fill): Outcome {
  const { side, selling, amount, shares, hedgeRef } = terms;
  const { operation, during, user = "", actor } = request;
  const after: Maker = { ...market.maker, ...fill.pool };
  const { numerator, denominator } = yesPrice(after);
  const held = positionOf(state, user, market.id, side) ?? { user, marketId: market.id, side, shares: 0n, cost: 0n };
  const released = selling ? (held.cost * shares) / larger(held.shares, 1n) : 0n;
  const position = selling
    ? { shares: held.shares - shares, cost: held.cost - released }
    : { shares: held.shares + shares, cost: held.cost + amount };
  const filled = {
    marketId: market.id,
    side,
    ...(selling ? { action: "sell" } : {}),
    amount: usd(amount),
    shares: usd(shares),
    avgPrice: priceOf(amount, shares),
    fee: usd(fee),
    yesPriceAfter: priceOf(numerator, denominator),
    ts: new Between(during.from, during.to),
  };
  if (operation === "quoteTrade") return { answer: { ...filled, ...impactOf(market.maker, after) }, commit: () => [] };
  const answer = {
    ...filled,
    tradeId: anyId,
    position: {
      shares: usd(position.shares),
      avgCost: position.shares === 0n ? 0 : priceOf(position.cost, position.shares),
    },
    ...(selling ? { realizedPnl: usd(amount - fee - released) } : {}),
    ...(hedgeRef ? { hedgeRef } : {}),
    ...(operation === "placeOrder" ? { orderId: anyId, status: "filled", outcome: side === "yes" ? 1 : 0 } : {}),
  };
  const commit = (answered: Record<string, unknown>): ExpectedEntry[] => {
    const id = String(answered.tradeId);
    const owner = userOf(state, user, during);
    const moved = selling ? amount - fee : -amount;
    owner.balance += moved;
    if (!state.positions.includes(held)) state.positions.push(held);
    Object.assign(held, position);
    market.maker = after;
    const { ts } = answered as { ts: string };
    const realized = selling ? amount - fee - released : null;
    const action = selling ? "sell" : "buy";
    const trade = { id, user, marketId: market.id, side, action, amount, fee, shares, realized, hedgeRef, ts } as const;
    state.trades.push({ ...trade, answer: answered, yesAfter: yesMillionths(after) });
    return [
      {
        type: "trade.executed",
        actor,
        payload: {
          tradeId: id,
          marketId: market.id,
          userId: user,
          side,
          ...(selling ? { action, cost: decimal(released) } : {}),
          ...(hedgeRef ? { hedgeRef } : {}),
          amount: decimal(amount),
          fee: decimal(fee),
          shares: decimal(shares),
        },
        logged: ({ seq, ts, type }) =>
          state.movements.push({ user, seq, ts, type, amount: moved, about: { marketId: market.id, tradeId: id } }),
      },
    ];
  };
  return { answer, commit };
}
