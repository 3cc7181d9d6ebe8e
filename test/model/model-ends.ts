import { Between } from "./match.ts";
import type { Side } from "./model-makers.ts";
import { decimal, microOf, ONE, smaller, sum, usd } from "./model-numbers.ts";
import {
  amountOf,
  type ExpectedEntry,
  type Market,
  marketOf,
  type Outcome,
  type Request,
  refuse,
  type State,
  userOf,
} from "./model-state.ts";

/** How a market ends, in the form of the interface. */
export type End = Side | "void" | { yes: number };

/** One user's shares of one side, worked out from every trade again. */
interface Holding {
  user: string;
  side: Side;
  shares: bigint;
  cost: bigint;
  fee: bigint;
}

/** In the order of users and sides, in which positions are paid. */
function holdingsOf(state: State, marketId: string): Holding[] {
  const holdings: Holding[] = [];
  for (const { user, side, action, amount, fee, shares, ...trade } of state.trades) {
    if (trade.marketId !== marketId) continue;
    const known = holdings.find((each) => each.user === user && each.side === side);
    const held = known ?? { user, side, shares: 0n, cost: 0n, fee: 0n };
    if (!known) holdings.push(held);
    if (action === "buy") {
      held.cost += amount;
      held.fee += fee;
      held.shares += shares;
    } else {
      held.cost -= (held.cost * shares) / held.shares;
      held.fee -= (held.fee * shares) / held.shares;
      held.shares -= shares;
    }
  }
  const place = ({ user, side }: Holding) => `${user} ${side}`;
  return holdings.toSorted((a, b) => (place(a) < place(b) ? -1 : 1));
}

/** What an end pays for shares that cost this much. */
export function payOf({ side, shares, cost }: Pick<Holding, "side" | "shares" | "cost">, end: End): bigint {
  if (end === "void") return shares > 0n ? cost : 0n;
  if (typeof end === "string") return side === end ? shares : 0n;
  const part = microOf(end.yes) ?? 0n;
  return (shares * (side === "yes" ? part : ONE - part)) / ONE;
}

/** The sums of an end. */
export function sumsOf(state: State, market: Market, end: End) {
  const payments = holdingsOf(state, market.id).map((held) => ({ user: held.user, amount: payOf(held, end), held }));
  const paid = sum(payments.map(({ amount }) => amount));
  const fees = end === "void" ? sum(payments.map(({ held }) => (held.shares > 0n ? held.fee : 0n))) : 0n;
  const escrow = market.maker.fund + stakesOf(state, market.id);
  const kept = escrow - (paid - fees);
  const paying = payments.filter(({ amount }) => amount > 0n);
  return { payments: paying, paid, fees, escrow, kept, from: kept < 0n ? -kept : 0n, to: kept > 0n ? kept : 0n };
}

/** What traders put into a market: purchases without their fees, less what sales took out, their fees included. */
export const stakesOf = (state: State, id: string): bigint =>
  sum(
    state.trades
      .filter(({ marketId }) => marketId === id)
      .map(({ action, amount, fee }) => (action === "buy" ? amount - fee : -amount)),
  );

function isEnd(value: unknown): value is End {
  if (value === "yes" || value === "no" || value === "void") return true;
  const { yes } = (value ?? {}) as { yes?: unknown };
  const part = typeof yes === "number" ? microOf(yes) : undefined;
  return part !== undefined && part > 0n && part < ONE;
}

export const isReason = (value: unknown) => typeof value === "string" && value.length >= 1 && value.length <= 500;

/** As an entry of the log says it: a fraction is text there. */
export const onRecord = (end: End) => (typeof end === "string" ? end : { yes: String(end.yes) });
const sameEnd = (a: End, b: End) => JSON.stringify(a) === JSON.stringify(b);

/** Undefined for what cannot be read. */
function mostOf(value: unknown): { most: bigint | undefined } | undefined {
  if (value === undefined) return { most: undefined };
  const most = value === 0 ? 0n : amountOf(value);
  return most === undefined ? undefined : { most };
}

/** Every share is paid what the outcome gives it, or what it cost; the rest of the escrow goes back to the treasury. */
export function judgeEnd(state: State, request: Request): Outcome[] {
  const { operation, body, params, actor, during } = request;
  const isVoid = operation === "voidMarket";
  const end = isVoid ? "void" : body.outcome;
  const marketId = isVoid ? params.id : body.marketId;
  const limit = mostOf(body.maxTreasuryUsd);
  if (typeof marketId !== "string" || !isEnd(end) || (!isVoid && end === "void")) return refuse("BAD_REQUEST");
  if (isVoid && (!isReason(body.reason) || !limit)) return refuse("BAD_REQUEST");
  const market = marketOf(state, marketId);
  if (!market) return refuse("MARKET_NOT_FOUND");
  if (market.status === "settled") return refuse("MARKET_SETTLED");
  const { payments, paid, fees, kept, from, to } = sumsOf(state, market, end);
  const { expectPayouts, expectTotalUsd } = body;
  if (expectPayouts !== undefined && expectPayouts !== payments.length) return refuse("EXPECTATION_NOT_MET");
  if (expectTotalUsd !== undefined && microOf(Number(expectTotalUsd)) !== paid) return refuse("EXPECTATION_NOT_MET");
  if (isVoid && from > (limit?.most ?? 0n)) return refuse("EXPECTATION_NOT_MET");
  if (from > state.treasury) return refuse("TREASURY_INSUFFICIENT");
  const count = { payoutsProcessed: payments.length };
  const answer = {
    ...{ id: market.id, status: "settled", outcome: end, ...count, settledAt: new Between(during.from, during.to) },
    ...(isVoid ? { refundedUsd: usd(paid), fromFeesUsd: usd(fees) } : {}),
    ...(isVoid ? { fromTreasuryUsd: usd(from), toTreasuryUsd: usd(to) } : {}),
  };
  const sums = {
    refunded: decimal(paid),
    fromFees: decimal(fees),
    fromTreasury: decimal(from),
    toTreasury: decimal(to),
  };
  const payload = isVoid
    ? { marketId, reason: body.reason, ...count, ...sums }
    : { marketId, outcome: onRecord(end), payouts: payments.length, paid: decimal(paid), returned: decimal(kept) };
  const commit = (answered: Record<string, unknown>): ExpectedEntry[] => {
    state.treasury += kept;
    for (const { user, amount } of payments) userOf(state, user, during).balance += amount;
    const reason = isVoid ? body.reason : null;
    const about = { marketId: market.id, outcome: end, ...(isVoid ? { reason } : {}) };
    Object.assign(market, { status: "settled", outcome: end, settledAt: answered.settledAt, reason });
    const logged: ExpectedEntry["logged"] = ({ seq, ts, type }) => {
      for (const { user, amount } of payments) state.movements.push({ user, seq, ts, type, amount, about });
    };
    return [{ type: isVoid ? "market.voided" : "market.settled", actor, payload, logged }];
  };
  return [{ answer, commit }];
}

/** What a correction would move: each user's difference, the house's, and what wallets lack. */
export function differencesOf(state: State, market: Market, last: End, next: End) {
  const [before, after] = [sumsOf(state, market, last), sumsOf(state, market, next)];
  const users = [...new Set([...before.payments, ...after.payments].map(({ user }) => user))].toSorted();
  const of = (payments: { user: string; amount: bigint }[], name: string) =>
    sum(payments.filter(({ user }) => user === name).map(({ amount }) => amount));
  const changes = users
    .map((user) => ({ user, amount: of(after.payments, user) - of(before.payments, user) }))
    .filter(({ amount }) => amount !== 0n);
  const taken = changes.filter(({ amount }) => amount < 0n).map(({ user, amount }) => ({ user, amount: -amount }));
  const paid = changes.filter(({ amount }) => amount > 0n);
  const held = ({ user, amount }: { user: string; amount: bigint }) =>
    smaller(amount, state.users[user]?.balance ?? 0n);
  const kept = after.kept - before.kept;
  const sums = {
    users: changes.length,
    takenBackUsd: usd(sum(taken.map(({ amount }) => amount))),
    receivablesUsd: usd(sum(taken.map((each) => each.amount - held(each)))),
    paidUsd: usd(sum(paid.map(({ amount }) => amount))),
    feesUsd: usd(before.fees - after.fees),
    fromTreasuryUsd: usd(kept < 0n ? -kept : 0n),
    toTreasuryUsd: usd(kept > 0n ? kept : 0n),
  };
  return { taken: taken.map((each) => ({ ...each, held: held(each) })), paid, kept, sums };
}

/** The outcome that a correction would replace, or why there is none. */
export function correctableOf(state: State, market: Market, next: End, at: number): { last: End } | string {
  if (market.outcome === null || market.settledAt === null) return "MARKET_NOT_SETTLED";
  if (at >= Date.parse(market.settledAt) + state.correctionHours * 3_600_000) return "CORRECTION_CLOSED";
  return sameEnd(market.outcome, next) ? "OUTCOME_UNCHANGED" : { last: market.outcome };
}

/** Each user pays or gets the difference of both outcomes; what a wallet lacks is owed, and what is owed is repaid first. */
export function judgeCorrection(state: State, { body, params, actor, during }: Request): Outcome[] {
  const { outcome: next, reason } = body;
  const limit = mostOf(body.maxTreasuryUsd);
  if (!isEnd(next) || !isReason(reason) || !limit) return refuse("BAD_REQUEST");
  const market = marketOf(state, params.id);
  if (!market) return refuse("MARKET_NOT_FOUND");
  const found = correctableOf(state, market, next, during.to);
  if (typeof found === "string") return refuse(found);
  const { last } = found;
  const { taken, paid, kept, sums } = differencesOf(state, market, last, next);
  if (limit.most !== undefined && -kept > limit.most) return refuse("EXPECTATION_NOT_MET");
  if (-kept > state.treasury) return refuse("TREASURY_INSUFFICIENT");
  const correctedAt = new Between(during.from, during.to);
  const commit = (answered: Record<string, unknown>): ExpectedEntry[] => {
    state.treasury += kept;
    const lines: { user: string; amount: bigint; owed?: bigint }[] = [];
    for (const { user: name, amount, held } of taken) {
      const user = userOf(state, name, during);
      user.balance -= held;
      user.owed += amount - held;
      lines.push({ user: name, amount: -held }, { user: name, amount: 0n, owed: amount - held });
    }
    for (const { user: name, amount } of paid) {
      const user = userOf(state, name, during);
      const repaid = smaller(user.owed, amount);
      user.owed -= repaid;
      user.balance += amount - repaid;
      lines.push({ user: name, amount: 0n, owed: -repaid }, { user: name, amount: amount - repaid });
    }
    Object.assign(market, { outcome: next, reason });
    market.corrections.push({ from: last, to: next, at: String(answered.correctedAt), reason: String(reason) });
    const about = { marketId: market.id, from: last, outcome: next, reason };
    const moved = lines.filter(({ amount, owed = 0n }) => amount !== 0n || owed !== 0n);
    const logged: ExpectedEntry["logged"] = ({ seq, ts, type }) => {
      for (const line of moved) state.movements.push({ ...line, seq, ts, type, about });
    };
    const payload = { marketId: market.id, from: onRecord(last), outcome: onRecord(next), reason };
    return [{ type: "market.corrected", actor, payload, logged }];
  };
  return [{ answer: { id: market.id, status: "settled", from: last, outcome: next, correctedAt, ...sums }, commit }];
}
