import { Between, InAnyOrder, InRange, Like, OneOf } from "./match.ts";
import { eligibilityOf } from "./model-eligibility.ts";
import { payOf } from "./model-ends.ts";
import { capMinor } from "./model-funding.ts";
import { priceOf, yesMillionths } from "./model-makers.ts";
import { pricesOf, worth } from "./model-markets.ts";
import { ONE, sum, usd } from "./model-numbers.ts";
import type { Read } from "./model-reads.ts";
import { type SaleValue, saleValueOf, sumOf } from "./model-sale-values.ts";
import { exposureOf, type Moment, type State, statusesOf, type User } from "./model-state.ts";

function walletOf(state: State, user: string) {
  const pending = state.withdrawals.filter((each) => each.user === user && each.status === "pending");
  return {
    balanceUsd: usd(state.users[user]?.balance ?? 0n),
    exposureUsd: usd(exposureOf(state, user)),
    pendingWithdrawalsUsd: usd(sum(pending.map(({ amount }) => amount))),
    owedUsd: usd(state.users[user]?.owed ?? 0n),
  };
}

/** Positions in markets that are not settled. */
function heldBy(state: State, user: string) {
  return state.markets
    .filter((market) => market.status !== "settled")
    .flatMap((market) =>
      state.positions
        .filter((each) => each.user === user && each.marketId === market.id && each.shares > 0n)
        .map((position) => ({ market, position, value: saleValueOf(state, market, position) })),
    );
}

const range = ({ low, high }: SaleValue, less = 0n) => new InRange(usd(low - less), usd(high - less));

/** @param during of a portfolio, which shows the status of each market too */
function positionsOf(state: State, user: string, during?: Moment) {
  return heldBy(state, user).map(({ market, position: { marketId, side, shares, cost }, value }) => {
    const yes = yesMillionths(market.maker);
    return {
      marketId,
      side,
      question: market.question,
      shares: usd(shares),
      avgCost: priceOf(cost, shares),
      currentPrice: pricesOf(market)[side],
      unrealizedPnl: usd(worth(shares, side === "yes" ? yes : ONE - yes) - cost),
      sellValue: range(value),
      sellPnl: range(value, cost),
      ...(during ? { status: new OneOf(statusesOf(market, during)) } : {}),
    };
  });
}

function settlementsOf(state: State, user: string) {
  const settled = state.positions.flatMap((position) => {
    const market = state.markets.find(({ id }) => id === position.marketId);
    if (position.user !== user || position.shares === 0n || market?.status !== "settled") return [];
    const { side, shares, cost } = position;
    const payout = market.outcome === null ? 0n : payOf(position, market.outcome);
    const { id: marketId, outcome, settledAt, reason, corrections } = market;
    const shown = { marketId, side, outcome, settledAt, reason, corrections };
    return [{ ...shown, shares: usd(shares), cost: usd(cost), payout: usd(payout) }];
  });
  // Those of one millisecond have no order of their own, so nothing is said where the list is cut.
  if (settled.length > 20)
    return new Like("the last 20 settlements", (list) => Array.isArray(list) && list.length === 20);
  return new InAnyOrder(settled);
}

const stateOf = (user: User | undefined) => (user?.restricted ? "restricted" : (user?.kyc ?? "unverified"));

function suitabilityOf(state: State, user: string) {
  const { score, scoredAt } = state.users[user] ?? { score: null, scoredAt: null };
  if (score === null || scoredAt === null) return { completed: false };
  const updatedAt = new Between(scoredAt.from, scoredAt.to);
  return { completed: true, score, exposureCapMinor: capMinor(score, state.policy), updatedAt };
}

export function userReads(state: State, user: string): Read[] {
  const known = state.users[user];
  const own = (path: string, expected: Read["expected"], more: Partial<Read> = {}): Read => ({
    path,
    as: "web",
    user,
    about: [user],
    expected,
    ...more,
  });
  const trades = state.trades.filter((trade) => trade.user === user).toReversed();
  const orders = trades.map(({ id, side, answer: { tradeId, realizedPnl: _, position: __, ...filled } }) => ({
    ...filled,
    tradeId,
    orderId: id,
    status: "filled",
    outcome: side === "yes" ? 1 : 0,
  }));
  const shown = known && {
    userId: user,
    state: stateOf(known),
    kyc: known.kyc,
    jurisdiction: known.jurisdiction,
    suitabilityScore: known.score,
    ...walletOf(state, user),
    createdAt: new Between(known.createdAt.from, known.createdAt.to),
  };
  return [
    own("/v1/wallet", () => walletOf(state, user)),
    own("/v1/positions", () => new InAnyOrder(positionsOf(state, user))),
    own("/v1/portfolio", (during) => ({
      state: stateOf(known),
      suitability: suitabilityOf(state, user),
      wallet: walletOf(state, user),
      positions: new InAnyOrder(positionsOf(state, user, during)),
      sellValueUsd: range(sumOf(heldBy(state, user).map(({ value }) => value))),
      settlements: settlementsOf(state, user),
    })),
    own("/v1/statement", () => statementOf(state, user), { paged: true }),
    own("/v1/orders", () => orders, { paged: true }),
    own("/v1/suitability", () => suitabilityOf(state, user)),
    own("/v1/eligibility", () => eligibilityOf(state, user)),
    {
      path: `/v1/users/${user}/eligibility`,
      as: "ops",
      about: [user],
      ...(known ? {} : { status: 404 }),
      expected: () => (known ? eligibilityOf(state, user) : {}),
    },
    {
      path: `/v1/users/${user}`,
      as: "ops",
      about: [user],
      ...(shown ? {} : { status: 404 }),
      expected: () => shown ?? {},
    },
  ];
}

/** Newest first, each line with the balance after it. */
function statementOf(state: State, user: string) {
  let balance = 0n;
  const lines = state.movements
    .filter((movement) => movement.user === user)
    .toSorted((a, b) => a.seq - b.seq)
    .map(({ seq, ts, type, amount, owed, about }) => {
      balance += amount;
      const line = { seq, ts, type, amount: usd(amount), balance: usd(balance), ...about };
      return owed === undefined ? line : { ...line, owed: usd(owed) };
    });
  return lines.toReversed();
}
