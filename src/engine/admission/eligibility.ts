import { walletOf } from "../../domain/accounts.ts";
import type { Fault, Refuse } from "../../domain/fault.ts";
import { limitFromUsd } from "../../domain/money.ts";
import { policyHoldsUntil } from "../../domain/policy/policy.ts";
import { exposureCap } from "../../domain/trader.ts";
import { marketNeeds, need, requireMarket, requireTenant, TENANT } from "../command.ts";
import type { Reader } from "../draft.ts";
import { heldBy } from "../fill.ts";
import { type Need, SINGLE, type Table, type Tables } from "../rows.ts";
import { admitPurchase, admitSale, admitWithdrawal, EMPTY_PORTFOLIO, type FoundMarket } from "./admission.ts";

/** Whose actions are judged, and where. */
export interface Subject {
  traderId: string;
  /** Adds the rules of this market; without it only those that hold in every market are judged. */
  marketId: string | undefined;
  /** The jurisdiction in the user's token. */
  claimedJurisdiction: string | undefined;
}

/** A refusal that stands against an action, whatever its amount. */
export interface Reason {
  refusal: Fault;
  /** When the refusal ends by itself: an override of the policy runs out. Null if no time is known. */
  until: number | null;
}

/** What stands against each action of a user, in the order of refusals, and the limits of a purchase. */
export interface Eligibility {
  trade: Reason[];
  sell: Reason[];
  deposit: Reason[];
  withdraw: Reason[];
  limits: { maxTradeMicro: bigint; maxExposureMicro: bigint; remainingMicro: bigint; balanceMicro: bigint };
}

/** The least amount and number of shares: what refuses it refuses every other. */
const LEAST_MICRO = 1n;

/** The rows that `eligibilityOf` reads. */
export function needsOfEligibility({ traderId, marketId }: Subject): Need[] {
  return [
    TENANT,
    ...(marketId === undefined ? [] : marketNeeds(marketId)),
    need("trader", traderId),
    need("portfolio", traderId),
    need("account", walletOf(traderId)),
  ];
}

/**
 * Everything that stands against a user's actions at this instant, by the rules of the actions themselves. No rule
 * refuses a deposit: money that has arrived is credited.
 * @throws Fault MARKET_NOT_FOUND
 */
export function eligibilityOf(state: Reader, subject: Subject, now: number): Eligibility {
  const { traderId, marketId, claimedJurisdiction } = subject;
  const found = marketId === undefined ? undefined : requireMarket(state, marketId);
  const purchase = { claimedJurisdiction, amountMicro: LEAST_MICRO };
  const sale = { claimedJurisdiction, sharesMicro: LEAST_MICRO, heldMicro: sellableMicro(state, traderId, found) };
  const buy = (at: Reader, refuse: Refuse) => admitPurchase(at, found, purchase, traderId, now, refuse);
  return {
    trade: reasonsOf(state, now, buy),
    sell: reasonsOf(state, now, (at, refuse) => admitSale(at, found, sale, traderId, now, refuse)),
    deposit: [],
    withdraw: reasonsOf(state, now, (at, refuse) => admitWithdrawal(at, traderId, LEAST_MICRO, refuse)),
    limits: limitsOf(
      state,
      traderId,
      buy(state, () => {}),
    ),
  };
}

type Rules = (state: Reader, refuse: Refuse) => void;

function reasonsOf(state: Reader, now: number, rules: Rules): Reason[] {
  const refusals = refusalsOf(state, rules);
  const ends = refusals.length === 0 ? [] : endsOfOverrides(state, now);
  const later = ends.map((until) => {
    const codes = refusalsOf(afterOverrides(state, until), rules).map(({ code }) => code);
    return { until, codes };
  });
  return refusals.map((refusal) => {
    const end = later.find(({ codes }) => !codes.includes(refusal.code));
    return { refusal, until: end?.until ?? null };
  });
}

function refusalsOf(state: Reader, rules: Rules): Fault[] {
  const refusals: Fault[] = [];
  rules(state, (refusal) => refusals.push(refusal));
  return refusals;
}

/** The instants at which overrides of the policy end, ascending. */
function endsOfOverrides(state: Reader, now: number): number[] {
  const ends: number[] = [];
  const tenant = requireTenant(state);
  for (let at = policyHoldsUntil(tenant, now); Number.isFinite(at); at = policyHoldsUntil(tenant, at)) ends.push(at);
  return ends;
}

/** The same rows, without the overrides that have ended by an instant. */
function afterOverrides(state: Reader, instant: number): Reader {
  const tenant = requireTenant(state);
  const later = { ...tenant, overrides: tenant.overrides.filter(({ until }) => until > instant) };
  return {
    get: <T extends Table>(table: T, key: string) =>
      table === "tenant" && key === SINGLE ? (later as unknown as Tables[T]) : state.get(table, key),
  };
}

/**
 * The larger holding of the market's sides. Without a market, what the open positions cost: a position that is held has
 * cost something.
 */
function sellableMicro(state: Reader, traderId: string, found: FoundMarket | undefined): bigint {
  if (!found) return (state.get("portfolio", traderId) ?? EMPTY_PORTFOLIO).exposureMicro;
  const [yes, no] = [heldBy(state, traderId, found.market.id, "yes"), heldBy(state, traderId, found.market.id, "no")];
  return yes > no ? yes : no;
}

function limitsOf(
  state: Reader,
  traderId: string,
  { policy, trader }: ReturnType<typeof admitPurchase>,
): Eligibility["limits"] {
  const { exposureMicro } = state.get("portfolio", traderId) ?? EMPTY_PORTFOLIO;
  const maxExposureMicro = exposureCap(trader ?? { suitabilityScore: null }, policy).capMicro;
  return {
    maxTradeMicro: limitFromUsd(policy.maxTradeUsd),
    maxExposureMicro,
    remainingMicro: exposureMicro < maxExposureMicro ? maxExposureMicro - exposureMicro : 0n,
    balanceMicro: state.get("account", walletOf(traderId))?.balanceMicro ?? 0n,
  };
}
