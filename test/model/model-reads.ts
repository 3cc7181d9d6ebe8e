import { type Expected, InAnyOrder, Like, OneOf } from "./match.ts";
import { depthOf, historyOf } from "./model-charts.ts";
import { correctableOf, differencesOf, type End, sumsOf } from "./model-ends.ts";
import { pricesOf } from "./model-markets.ts";
import { sum, usd } from "./model-numbers.ts";
import { type Proposal, proposalView, publicView } from "./model-proposals.ts";
import { userReads } from "./model-reads-user.ts";
import { funding, hedgeBook, house, overview, risk, traders } from "./model-reports.ts";
import { type Market, type Moment, type State, statusesOf } from "./model-state.ts";

/** One read of the contract, and what it must show. */
export interface Read {
  path: string;
  /** Who asks: a key of the tenant file, and a user beside the public one. */
  as: "ops" | "web" | "nobody";
  user?: string;
  /** Markets and users that it shows, by which steps know what they touched. */
  about: string[];
  expected: (during: Moment) => Expected;
  /** What a refused read is answered with; 200 unless given. */
  status?: number;
  /** Pages of a bare array are followed when the whole list is wanted. */
  paged?: true;
}

/** Every read of the contract, as things stand. */
export function readsOf(state: State, users: readonly string[]): Read[] {
  return [
    ...state.markets.flatMap((market) => marketReads(state, market)),
    ...users.flatMap((user) => userReads(state, user)),
    ...tenantReads(state),
  ];
}

const status = (market: Market, during: Moment) => oneOf(statusesOf(market, during));
const oneOf = (values: readonly unknown[]) => (values.length === 1 ? values[0] : new OneOf(values));
const isOpen = (market: Market, during: Moment) => statusesOf(market, during).includes("open");
const isSurelyOpen = (market: Market, during: Moment) => statusesOf(market, during).join() === "open";
const volumeOf = (state: State, { id }: Market) =>
  sum(state.trades.filter(({ marketId }) => marketId === id).map(({ amount }) => amount));

function marketReads(state: State, market: Market): Read[] {
  const { id, question, category, resolutionRef, meta, createdAt, outcome, settledAt, reason, corrections, maker } =
    market;
  const { clarifications } = market;
  const at = `/v1/markets/${id}`;
  const detail = (during: Moment) => {
    const { yes, no } = pricesOf(market);
    const shown = { id, question, category, kind: maker.kind, resolutionRef, meta, createdAt, outcome, settledAt };
    const closeAt = new Date(market.closeAt).toISOString();
    return {
      ...shown,
      reason,
      corrections,
      clarifications,
      closeAt,
      status: status(market, during),
      yesPrice: yes,
      noPrice: no,
      volume: usd(volumeOf(state, market)),
    };
  };
  const preview = (end: End): Read => {
    const word = typeof end === "string" ? end : `yes=${end.yes}`;
    const path = `${at}/settlement?outcome=${word}`;
    if (market.status === "settled") return { path, as: "ops", about: [id], status: 400, expected: () => ({}) };
    const { payments, paid, fees, escrow, kept, from, to } = sumsOf(state, market, end);
    const sums = {
      ...{
        marketId: id,
        payouts: payments.length,
        escrowUsd: usd(escrow),
        totalUsd: usd(paid),
        fromFeesUsd: usd(fees),
      },
      ...{ fromTreasuryUsd: usd(from), toTreasuryUsd: usd(to), houseResultUsd: usd(kept - maker.fund) },
    };
    return { path, as: "ops", about: [id], expected: () => sums };
  };
  const correction: Read = {
    ...{ path: `${at}/correction?outcome=no`, as: "ops", about: [id] },
    ...(typeof correctableOf(state, market, "no", Date.now()) === "string" ? { status: 400 } : {}),
    expected: ({ to }) => {
      const found = correctableOf(state, market, "no", to);
      if (typeof found === "string") return {};
      return { marketId: id, from: found.last, to: "no", ...differencesOf(state, market, found.last, "no").sums };
    },
  };
  return [
    { path: at, as: "web", about: [id], expected: detail },
    { path: `${at}/history`, as: "web", about: [id], expected: (during) => historyOf(state, market, during) },
    { path: `${at}/depth`, as: "web", about: [id], expected: (during) => depthOf(market, during) },
    preview("yes"),
    preview("no"),
    preview("void"),
    preview({ yes: 0.4 }),
    correction,
    ...(state.rules ? [lastProposal(state, id)] : []),
  ];
}

function lastProposal({ proposals }: State, id: string): Read {
  const last = proposals.findLast(({ marketId }) => marketId === id);
  const read = { path: `/v1/markets/${id}/proposal`, as: "web" as const, about: [id] };
  return last ? { ...read, expected: () => publicView(last) } : { ...read, status: 404, expected: () => ({}) };
}

function tenantReads(state: State): Read[] {
  const admin = (path: string, expected: Read["expected"], more: Partial<Read> = {}): Read => ({
    path,
    as: "ops",
    about: ["tenant"],
    expected,
    ...more,
  });
  const listed = (during: Moment) =>
    state.markets
      .filter((market) => isOpen(market, during))
      .toSorted((a, b) => a.closeAt - b.closeAt || (a.id < b.id ? -1 : 1));
  const item = (market: Market) => ({
    id: market.id,
    question: market.question,
    yesPrice: pricesOf(market).yes,
    volume24h: usd(volumeOf(state, market)),
  });
  const list = (wanted: (market: Market) => boolean) => (during: Moment) =>
    whileCertain(listed(during).filter(wanted), during, (markets) =>
      markets.map((market) => ({
        ...item(market),
        category: market.category,
        kind: market.maker.kind,
        closeAt: new Date(market.closeAt).toISOString(),
      })),
    );
  // By identifier, which holds the time of the request: the log may have two simultaneous ones in the other order.
  const withdrawals = (wanted?: string) => () =>
    state.withdrawals
      .filter((each) => wanted === undefined || each.status === wanted)
      .toSorted((a, b) => (a.id < b.id ? 1 : -1))
      .map(({ id, user, amount, status, createdAt }) => ({
        withdrawalId: id,
        userId: user,
        amount: usd(amount),
        status,
        createdAt,
      }));
  const trending = (during: Moment) =>
    whileCertain(listed(during), during, (markets) =>
      markets
        .toSorted((a, b) => Number(volumeOf(state, b) - volumeOf(state, a)) || (a.id < b.id ? -1 : 1))
        .slice(0, 20)
        .map(item),
    );
  const report = (name: string, expected: () => object) =>
    admin(`/v1/reports/${name}`, () => ({ periodDays: 30, ...expected() }));
  // By identifier, as withdrawals are.
  const proposals = (wanted: (proposal: Proposal) => boolean) => () =>
    state.proposals
      .filter(wanted)
      .toSorted((a, b) => (a.id < b.id ? 1 : -1))
      .map(proposalView);
  return [
    { path: "/health", as: "nobody", about: ["tenant"], expected: () => ({ ok: true, db: true }) },
    { path: "/v1/markets", as: "web", about: ["tenant"], expected: list(() => true), paged: true },
    {
      path: "/v1/markets?kind=lmsr",
      as: "web",
      about: ["tenant"],
      expected: list(({ maker }) => maker.kind === "lmsr"),
      paged: true,
    },
    {
      path: "/v1/markets?category=sports",
      as: "web",
      about: ["tenant"],
      expected: list(({ category }) => category === "sports"),
      paged: true,
    },
    { path: "/v1/markets/trending", as: "web", about: ["tenant"], expected: trending },
    admin("/v1/withdrawals", withdrawals(), { paged: true }),
    admin("/v1/withdrawals?status=pending", withdrawals("pending"), { paged: true }),
    ...(state.rules
      ? [
          admin(
            "/v1/proposals",
            proposals(() => true),
            { paged: true },
          ),
          admin(
            "/v1/proposals?status=pending",
            proposals(({ status: is }) => is === "pending"),
            { paged: true },
          ),
          admin(
            "/v1/proposals?kind=settle",
            proposals(({ kind }) => kind === "settle"),
            { paged: true },
          ),
        ]
      : []),
    admin("/v1/hedge/exposure", () => ({ hedgeBook: hedgeBook(state) })),
    report("overview", () => overview(state)),
    report("house", () => house(state)),
    report("traders", () => traders(state)),
    report("funding", () => funding(state)),
    admin("/v1/risk", (during) =>
      whileCertain(listed(during), during, (markets) => new InAnyOrder(markets.map((market) => risk(state, market)))),
    ),
    admin("/v1/audit/status", (during) => auditStatus(state, during)),
    admin("/v1/audit", (during) =>
      dueClosings(state, during) ? {} : { entries: state.log.toReversed().slice(0, 50) },
    ),
    admin("/v1/policy", () => state.policy),
    admin("/v1/keys", (during) => new InAnyOrder(keysOf(state, during))),
    admin("/v1/oracle/status", () => ({
      supportedFeeds: 41,
      eligibleMarkets: state.markets.filter(
        (market) => market.status !== "settled" && market.resolutionRef.startsWith("pm:"),
      ).length,
      recentResolutions: [],
    })),
  ];
}

/** A list of open markets says nothing certain in the moments around a closing time. */
function whileCertain(markets: Market[], during: Moment, expected: (markets: Market[]) => Expected): Expected {
  return markets.every((market) => isSurelyOpen(market, during))
    ? expected(markets)
    : new Like("a list around a closing time", Array.isArray);
}

/** Closings are put on record by the servers themselves, so the log may be ahead by those that are due. */
const dueClosings = ({ markets }: State, { to }: Moment): boolean =>
  markets.some(
    ({ closingRecorded, status, closeAt }) => !closingRecorded && status !== "settled" && closeAt <= to + 2000,
  );

function auditStatus(state: State, during: Moment): Expected {
  if (dueClosings(state, during)) return { verified: true };
  return { verified: true, count: state.log.length, head: state.log.at(-1)?.hash };
}

function keysOf({ keys }: State, { from, to }: Moment) {
  return keys.map(({ name, type, createdAt, expiresAt }) => {
    const activeAt = (at: number) => expiresAt === null || Date.parse(expiresAt) > at;
    const active = oneOf([...new Set([activeAt(from - 300), activeAt(to + 300)])]);
    return { name, type, expiresAt, active, ...(createdAt === null ? {} : { createdAt }) };
  });
}
