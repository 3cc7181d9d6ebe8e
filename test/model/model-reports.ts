import { InAnyOrder, InRange, OneOf } from "./match.ts";
import { payOf, stakesOf, sumsOf } from "./model-ends.ts";
import { millionths, yesMillionths } from "./model-makers.ts";
import { heldOf, worth } from "./model-markets.ts";
import { larger, ONE, sum, usd } from "./model-numbers.ts";
import { saleValueOf, sumOf } from "./model-sale-values.ts";
import type { HedgeRef, Market, State, Trade } from "./model-state.ts";

/** All that happened lies within the 30 days of a report, so they are sums over everything. */

const feesOf = (trades: Trade[]) => sum(trades.map(({ fee }) => fee));
const volumeOf = (trades: Trade[]) => sum(trades.map(({ amount }) => amount));

/** What the treasury got of settled markets, less their liquidity. */
const spreadOf = (state: State, markets: Market[]) =>
  sum(markets.map((market) => (market.outcome ? sumsOf(state, market, market.outcome).kept - market.maker.fund : 0n)));

/** Fees that voids have given back. */
const givenBackOf = (state: State, markets: Market[]) =>
  sum(markets.map((market) => (market.outcome ? sumsOf(state, market, market.outcome).fees : 0n)));

const revenueOf = (state: State, trades: Trade[], settled: Market[]) =>
  feesOf(trades) - givenBackOf(state, settled) + spreadOf(state, settled);

const settledOf = ({ markets }: State) => markets.filter(({ status }) => status === "settled");

export function overview(state: State) {
  return {
    totalVolume: usd(volumeOf(state.trades)),
    houseRevenue: usd(revenueOf(state, state.trades, settledOf(state))),
    settledMarkets: settledOf(state).length,
    activeTraders: new Set(state.trades.map(({ user }) => user)).size,
  };
}

export function house(state: State) {
  const byCategory = [...new Set(state.markets.map(({ category }) => category))].flatMap((category) => {
    const markets = state.markets.filter((market) => market.category === category);
    const trades = state.trades.filter(({ marketId }) => markets.some(({ id }) => id === marketId));
    const settled = markets.filter(({ status }) => status === "settled");
    if (trades.length + settled.length === 0) return [];
    const [revenue, volume] = [revenueOf(state, trades, settled), volumeOf(trades)];
    return [
      { category, revenue: usd(revenue), volume: usd(volume), netMargin: volume === 0n ? 0 : ratio(revenue, volume) },
    ];
  });
  const settled = settledOf(state);
  const voids = settled.filter(({ outcome }) => outcome === "void").map((market) => sumsOf(state, market, "void"));
  const refunds = {
    markets: voids.length,
    positions: voids.reduce((count, { payments }) => count + payments.length, 0),
    paid: usd(sum(voids.map(({ paid }) => paid))),
    fees: usd(sum(voids.map(({ fees }) => fees))),
    treasury: usd(sum(voids.map(({ from }) => from))),
  };
  return {
    totalFees: usd(feesOf(state.trades) - givenBackOf(state, settled)),
    spreadIncome: usd(spreadOf(state, settled)),
    refunds,
    byCategory: new InAnyOrder(byCategory),
  };
}

/** Six decimals; both neighbours where a double could round either way. */
function ratio(a: bigint, b: bigint) {
  const [value = 0, other] = millionths(a, b).map((ppm) => Number(ppm) / 1e6);
  return other === undefined ? value : new OneOf([value, other]);
}

export function traders(state: State) {
  const rows = [...new Set(state.trades.map(({ user }) => user))].map((userId) => {
    const own = state.trades.filter(({ user }) => user === userId);
    const { realized, unrealized, sold, positions, wins } = resultOf(state, userId, own);
    return {
      userId,
      volume: usd(volumeOf(own)),
      trades: own.length,
      markets: new Set(own.map(({ marketId }) => marketId)).size,
      winRate: positions === 0 ? null : ratio(BigInt(wins), BigInt(positions)),
      realizedPnl: usd(realized),
      unrealizedPnl: usd(unrealized),
      sellPnl: new InRange(usd(sold.low), usd(sold.high)),
      totalPnl: usd(realized + unrealized),
      pnl: realized + unrealized,
    };
  });
  return {
    traders: new InAnyOrder(rows.map(({ pnl: _, ...row }) => row)),
    totals: {
      traders: rows.length,
      trades: state.trades.length,
      volume: usd(volumeOf(state.trades)),
      totalPnl: usd(sum(rows.map(({ pnl }) => pnl))),
    },
  };
}

/** Sales and settlements are realised, what is held is marked to the price of six decimals. */
function resultOf(state: State, userId: string, own: Trade[]) {
  const realized = sum(own.map(({ realized }) => realized ?? 0n));
  const result = { realized, unrealized: 0n, sold: { low: 0n, high: 0n }, positions: 0, wins: 0 };
  for (const position of state.positions.filter(({ user }) => user === userId)) {
    const { marketId, side, shares, cost } = position;
    const market = state.markets.find(({ id }) => id === marketId);
    if (market?.outcome === "void") continue;
    if (market?.outcome) {
      const pay = payOf(position, market.outcome);
      const won = typeof market.outcome === "string" ? market.outcome === side : pay > cost;
      result.realized += pay - cost;
      result.positions += shares > 0n ? 1 : 0;
      result.wins += shares > 0n && won ? 1 : 0;
    } else if (market) {
      const yes = yesMillionths(market.maker);
      result.unrealized += worth(shares, side === "yes" ? yes : ONE - yes) - cost;
      const { low, high } = saleValueOf(state, market, position);
      result.sold = sumOf([result.sold, { low: low - cost, high: high - cost }]);
    }
  }
  return result;
}

export function funding({ flows, withdrawals, users }: State) {
  const inflow = (amounts: bigint[]) => sum(amounts.filter((amount) => amount > 0n));
  const outflow = (amounts: bigint[]) => -sum(amounts.filter((amount) => amount < 0n));
  const all = flows.map(({ amount }) => amount);
  const byProvider = [...new Set(flows.map(({ provider }) => provider))].map((provider) => {
    const own = flows.filter((flow) => flow.provider === provider).map(({ amount }) => amount);
    return { provider, inflows: usd(inflow(own)), outflows: usd(outflow(own)) };
  });
  const pending = withdrawals.filter(({ status }) => status === "pending").map(({ amount }) => amount);
  return {
    inflows: usd(inflow(all)),
    outflows: usd(outflow(all)),
    pendingWithdrawals: usd(sum(pending)),
    owedUsd: usd(sum(Object.values(users).map(({ owed }) => owed))),
    netMovement: usd(sum(all)),
    byProvider: new InAnyOrder(byProvider),
  };
}

/** What the house loses if the market settles now the worse way. */
export function risk(state: State, { id, question }: Market) {
  const [yes, no] = [heldOf(state, id, "yes"), heldOf(state, id, "no")];
  const maxLiability = larger(0n, larger(yes, no) - stakesOf(state, id));
  return { marketId: id, question, maxLiability: usd(maxLiability), yesPayout: usd(yes), noPayout: usd(no) };
}

/** Tags of purchases since their position was last empty; each sale takes the same part from them as from the position's cost. */
export function hedgeBook(state: State) {
  const positions = new Map<string, { left: bigint; cost: bigint; tags: { hedge: HedgeRef; active: bigint }[] }>();
  const isOpen = (id: string) => state.markets.find((market) => market.id === id)?.status !== "settled";
  for (const { user, marketId, side, action, amount, fee, shares, realized, hedgeRef } of state.trades) {
    const key = JSON.stringify([isOpen(marketId), user, marketId, side]);
    const position = positions.get(key) ?? { left: 0n, cost: 0n, tags: [] };
    positions.set(key, position);
    const given = action === "sell" ? amount - fee - (realized ?? 0n) : 0n;
    for (const tag of position.tags)
      if (given > 0n) tag.active = (tag.active * (position.cost - given)) / position.cost;
    position.left += action === "buy" ? shares : -shares;
    position.cost += action === "buy" ? amount : -given;
    if (hedgeRef !== null) position.tags.push({ hedge: hedgeRef, active: amount * FINE });
    if (position.left === 0n) position.tags = [];
  }
  const open = [...positions].flatMap(([key, { tags }]) => (key.startsWith("[true") ? tags : []));
  return [...new Set(open.map(({ hedge }) => hedge.symbol))].toSorted().map((symbol) => {
    const own = open.filter(({ hedge }) => hedge.symbol === symbol);
    const count = (direction: string) => own.filter(({ hedge }) => hedge.direction === direction).length;
    const active = sum(own.map((each) => each.active));
    // The divisions may have lost a little that makes a whole cent.
    const cents = [...new Set([active, active + 1000n].map((each) => Number(each / FINE / 10_000n)))];
    return {
      symbol,
      openTrades: own.length,
      longHedges: count("long"),
      shortHedges: count("short"),
      totalNotionalMinor: own.reduce((total, { hedge }) => total + hedge.notional, 0),
      activeCostMinor: cents.length === 1 ? cents[0] : new OneOf(cents),
    };
  });
}
const FINE = 1_000_000n;
