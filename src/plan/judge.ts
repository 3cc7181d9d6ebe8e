import type { WireInput } from "../contract/operations.ts";
import { coversScopes, type Scope, scopesOfApply } from "../domain/access/scopes.ts";
import { isSame } from "../domain/audit/audit-link.ts";
import {
  absoluteDecimal,
  compareDecimals,
  multiplyDecimals,
  parseDecimal,
  subtractDecimals,
} from "../domain/decimal.ts";
import type { FeedDefinition } from "../domain/feeds/feed.ts";
import { isTrading, parseTradingHours } from "../domain/feeds/trading-hours.ts";
import { termsOf } from "../domain/market/terms.ts";
import { POLICY_FIELDS, rowOf } from "../domain/policy/fields.ts";
import { mergePolicy, policyPatchOf } from "../domain/policy/policy.ts";
import { policyValue } from "../domain/policy/values.ts";
import { counted } from "../domain/text.ts";
import { createdMarket, policyFieldOf } from "./plan-compare.ts";
import { blockers, writesOf } from "./plan-decision.ts";
import type { Desired, Facts, FeedsOfTenant, LiveConfig, Plan, PlanMoney } from "./plan-types.ts";

/** The trading rules before and after a change. */
type TradingTerms = WireInput<"previewPolicy">;

/** The facts that are needed before a plan is judged. */
export interface Questions {
  /** Undefined where the plan changes no rule that past trades can be checked against. */
  rules: TradingTerms | undefined;
  /** The feeds that new markets refer to. */
  feeds: readonly FeedDefinition[];
}

export function questionsOf(plan: Plan, desired: Desired, live: LiveConfig, feeds: FeedsOfTenant): Questions {
  const rules = tradingTerms(plan, desired, live);
  const isPreviewed = live.version > 0 && changesRules(rules);
  return { rules: isPreviewed ? rules : undefined, feeds: feedsOf(createdIn(plan, desired).values(), feeds) };
}

/**
 * Adds to a plan its cost, the likely mistakes in its new markets, and the parts that the key in use cannot apply.
 * Pure. The operator's rules run afterwards, because they are evaluated over all of this.
 */
export function judge(plan: Plan, desired: Desired, live: LiveConfig, facts: Facts): Plan & { money: PlanMoney } {
  const ofMarkets = [...createdIn(plan, desired)].flatMap(([key, market]) =>
    referenceWarnings(market, facts.feeds, facts.prices).map((warning) => `markets.${key}: ${warning}`),
  );
  const ofScopes = scopeWarnings(plan, desired, live, facts.scopes);
  return {
    ...plan,
    warnings: [...plan.warnings, ...ofMarkets, ...ofScopes],
    money: { ...marketMoney(plan, desired, live), trades: facts.trades },
  };
}

/** The markets to create, by their keys. */
function createdIn(plan: Plan, { document }: Desired): Map<string, (typeof document.declared)[string]> {
  const keys = new Set(plan.items.flatMap((item) => createdMarket(item) ?? []));
  return new Map(Object.entries(document.declared).filter(([key]) => keys.has(key)));
}

/** The rules before and after an apply that writes everything in the files. */
export function tradingTerms(plan: Plan, { document }: Desired, live: LiveConfig): TradingTerms {
  const fields = plan.items.flatMap((item) => {
    const field = item.kind === "adopted" ? undefined : policyFieldOf(item);
    return field ? [[field, item.desired] as const] : [];
  });
  return {
    before: { policy: live.policy, kycRequired: live.kycRequired },
    after: { policy: mergePolicy(live.policy, policyPatchOf(fields)), kycRequired: document.kyc.required },
  };
}

function changesRules({ before, after }: TradingTerms): boolean {
  if (before.kycRequired !== after.kycRequired) return true;
  return POLICY_FIELDS.some((field) => {
    const [from = null, to = null] = [policyValue(before.policy, field), policyValue(after.policy, field)];
    return rowOf(field).previewed && !isSame(from, to);
  });
}

/** The cost of new markets: each loses at most the house's liquidity, so all of them lose at most the sum. */
export function marketMoney(
  plan: Plan,
  desired: Desired,
  live: LiveConfig,
): Pick<PlanMoney, "newMarkets" | "treasury"> {
  const { markets, treasury } = desired.document;
  const created = [...createdIn(plan, desired).values()];
  const worstCaseLossUsd = created.reduce((sum, { liquidityUsd = markets.liquidityUsd }) => sum + liquidityUsd, 0);
  const nowUsd = live.treasuryUsd;
  const addedUsd = Math.max(0, treasury.capitalUsd - live.capitalUsd);
  return {
    newMarkets: { count: created.length, worstCaseLossUsd },
    treasury: { nowUsd, addedUsd, afterUsd: nowUsd + addedUsd - worstCaseLossUsd },
  };
}

/**
 * A warning about the scopes that an apply of the whole plan needs and the key in use lacks; none for a key without
 * `config`, which is only for planning.
 */
function scopeWarnings(plan: Plan, desired: Desired, live: LiveConfig, held: readonly Scope[] | undefined): string[] {
  if (!held || !coversScopes(held, ["config"]) || blockers(plan).length > 0) return [];
  const writes = writesOf(plan, desired, live, { onDrift: "overwrite", acceptLoosening: true });
  const lacking = scopesOfApply({
    createsMarkets: writes.markets.length > 0,
    namesMarkets: writes.names !== undefined,
    suspendsOrResumes: writes.marketStates.length > 0,
    addsCapital: writes.capitalUsd > live.capitalUsd,
    endsKyc: (live.kycRequired && !writes.kycRequired) || (live.policy.kycReview && writes.policy.kycReview === false),
    changesKeys: writes.keys.length + writes.revoke.length > 0,
    given: writes.keys.map(({ name, scopes = [] }) => ({ name, scopes })),
  }).filter(({ scope }) => !coversScopes(held, [scope]));
  const told = new Map(lacking.toReversed().map(({ scope, purpose }) => [scope, `${scope} (${purpose})`]));
  if (told.size === 0) return [];
  return [`the key in use cannot apply all of this: it lacks ${[...told.values()].reverse().join(", ")}`];
}

/** A strike further from the last price than half of that price is probably a mistake. */
const FAR = { units: 5n, scale: 1 };

type ReferringMarket = Parameters<typeof termsOf>[0];

/** The feeds of the markets, each once. */
export function feedsOf(markets: Iterable<ReferringMarket>, { feeds, hashes }: FeedsOfTenant): FeedDefinition[] {
  const found = [...markets].flatMap((market) => {
    const outcome = termsOf(market, hashes);
    return outcome.kind === "terms" ? (feeds.get(outcome.terms.feed) ?? []) : [];
  });
  return [...new Set(found)];
}

/**
 * Likely mistakes in a market's reference. They do not prevent the market.
 * @param lastPrices by feed, as decimal texts
 */
export function referenceWarnings(
  { resolutionRef, meta, closeAt }: ReferringMarket,
  setup: FeedsOfTenant,
  lastPrices: ReadonlyMap<string, string | null>,
): string[] {
  const outcome = termsOf({ resolutionRef, meta, closeAt }, setup.hashes);
  if (outcome.kind === "text") return [];
  if (outcome.kind === "problem") {
    const { at, message } = outcome.problem;
    return [`"${resolutionRef}" settles nothing by itself: at character ${at + 1}, ${message}`];
  }
  const { terms } = outcome;
  const feed = setup.feeds.get(terms.feed);
  const warnings: string[] = [];
  const hours = feed?.hours ? parseTradingHours(feed.hours) : undefined;
  if (hours && !isTrading(hours, terms.instant))
    warnings.push(`${terms.feed} does not trade at ${new Date(terms.instant).toISOString()}: the market would be held`);
  const usable = feed?.sources.filter(({ use }) => !setup.lacking.has(use)).length ?? 0;
  if (feed && usable < feed.quorum) warnings.push(`${tooFewSources(feed, usable, setup)}: the market would be held`);
  if (terms.instant < closeAt)
    warnings.push(
      "The price of an instant before the closing time decides: traders will know the outcome while they trade",
    );
  const latest = lastPrices.get(terms.feed);
  const [price, strike] = [parseDecimal(latest ?? ""), parseDecimal(terms.strike)];
  if (price && strike) {
    const distance = absoluteDecimal(subtractDecimals(strike, price));
    if (compareDecimals(distance, multiplyDecimals(absoluteDecimal(price), FAR)) > 0)
      warnings.push(`The strike ${terms.strike} is far from the last price, ${latest}`);
  }
  return warnings;
}

/** Such as `pm:xau needs 1 source and has 0: pyth needs a header with the key, …`. */
export function tooFewSources(
  { key, quorum, sources }: FeedDefinition,
  usable: number,
  { lacking }: Pick<FeedsOfTenant, "lacking">,
): string {
  const needs = sources.flatMap(({ use }) => (lacking.has(use) ? [`${use} needs ${lacking.get(use)}`] : []));
  return `${key} needs ${counted(quorum, "source")} and has ${usable}: ${needs.join(", ")}`;
}
