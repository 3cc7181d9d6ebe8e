import type { Input, Result } from "../../contract/operations.ts";
import { canonicalJson, type Json } from "../../domain/audit/audit-link.ts";
import { Fault } from "../../domain/fault.ts";
import { limitFromUsd, usdFromMicro } from "../../domain/money.ts";
import { HIGHEST_SCORE } from "../../domain/policy/suitability.ts";
import { counted } from "../../domain/text.ts";
import { DAY_MS } from "../../domain/time/units.ts";
import { exposureCap, requireEligible, type TraderStanding } from "../../domain/trader.ts";
import { readClock } from "../../postgres/database-time.ts";
import {
  type CapChange,
  type LimitImpact,
  listStandings,
  readLimitImpact,
  type Standing,
} from "../../queries/impact.ts";
import type { ServiceContext } from "../context.ts";

/** Rules under which a user trades. */
type Terms = Input<"previewPolicy">["before"];
type RuleImpact = Result<"previewPolicy">["rules"][number];
type Rule = RuleImpact["rule"];

const DAYS = 30;

/**
 * How changed rules would have affected the last 30 days. A rule without an effect is omitted. Past refusals are not
 * recorded.
 */
export async function previewPolicy(
  { pool }: Pick<ServiceContext, "pool">,
  { before, after }: Input<"previewPolicy">,
): Promise<Result<"previewPolicy">> {
  const { standing, limits } = changedRules(before, after);
  const [standings, found] = await pool.snapshot(async (sql) => {
    // Whole UTC days, as in reports.
    const since = Math.floor((await readClock(sql)) / DAY_MS) * DAY_MS - (DAYS - 1) * DAY_MS;
    return Promise.all([
      standing ? listStandings(sql, since) : [],
      limits ? readLimitImpact(sql, since, tradeLimits(before, after), capChanges(before, after)) : undefined,
    ]);
  });
  return {
    days: DAYS,
    examined: found?.examined ?? standings.reduce((sum, { trades }) => sum + trades, 0),
    complete: found?.complete ?? true,
    rules: [...standingImpact(standings, before, after), ...(found ? limitRules(found, before, after) : [])],
  };
}

function changedRules(before: Terms, after: Terms): { standing: boolean; limits: boolean } {
  const thresholds = differs(before, after, ({ policy }) => policy.suitabilityThresholds);
  return {
    standing:
      thresholds ||
      differs(before, after, ({ policy, kycRequired }) => [
        policy.jurisdictions,
        policy.suitabilityRequired,
        kycRequired,
      ]),
    limits: thresholds || differs(before, after, ({ policy }) => [policy.maxTradeUsd, policy.maxUserExposureUsd]),
  };
}

function differs(before: Terms, after: Terms, part: (terms: Terms) => unknown): boolean {
  return canonicalJson(part(before) as Json) !== canonicalJson(part(after) as Json);
}

function tradeLimits(before: Terms, after: Terms): { beforeMicro: bigint; afterMicro: bigint } {
  return {
    beforeMicro: limitFromUsd(before.policy.maxTradeUsd),
    afterMicro: limitFromUsd(after.policy.maxTradeUsd),
  };
}

/** The caps before and after, for every score and for users without one (-1). */
function capChanges(before: Terms, after: Terms): CapChange[] {
  return Array.from({ length: HIGHEST_SCORE + 2 }, (_, index) => {
    const score = index - 1;
    const trader = { suitabilityScore: score < 0 ? null : score } as TraderStanding;
    return {
      score,
      beforeMicro: exposureCap(trader, before.policy).capMicro,
      afterMicro: exposureCap(trader, after.policy).capMicro,
    };
  });
}

function limitRules(limits: LimitImpact, before: Terms, after: Terms): RuleImpact[] {
  const { overTrade, atTradeLimit, overCap, usersOverCap, usersAtCap } = limits;
  const rules: RuleImpact[] = [];
  const [was, is] = [before.policy.maxTradeUsd, after.policy.maxTradeUsd];
  if (is < was && overTrade.count > 0)
    rules.push({
      rule: "maxTradeUsd",
      refused: { trades: overTrade.count, usd: usdFromMicro(overTrade.micro) },
      admittedUsers: null,
      note: `purchases above ${is} USD`,
    });
  if (is > was && atTradeLimit.count > 0)
    rules.push({
      rule: "maxTradeUsd",
      refused: { trades: 0, usd: 0 },
      admittedUsers: null,
      note: `failed trades are not recorded; ${counted(atTradeLimit.count, "purchase was", "purchases were")} of exactly ${was} USD`,
    });
  const capsChange = differs(before, after, ({ policy: { maxUserExposureUsd, suitabilityThresholds } }) => [
    maxUserExposureUsd,
    suitabilityThresholds.tiers,
  ]);
  if (!capsChange || (overCap.count === 0 && usersOverCap.count === 0 && usersAtCap === 0)) return rules;
  const told = [
    ...(overCap.count > 0 ? ["at least the single purchases above the cap"] : []),
    ...(usersOverCap.count > 0
      ? [
          `${counted(usersOverCap.count, "user holds", "users hold")} ${usdFromMicro(usersOverCap.micro)} USD above the new cap now`,
        ]
      : []),
    ...(usersAtCap > 0 ? [`${counted(usersAtCap, "was", "were")} at the old cap`] : []),
    "failed trades are not recorded",
  ];
  rules.push({
    rule: "maxUserExposureUsd",
    refused: { trades: overCap.count, usd: usdFromMicro(overCap.micro) },
    admittedUsers: null,
    note: told.join("; "),
  });
  return rules;
}

/** By the error code of `requireEligible`. */
const RULES: Readonly<Record<string, Rule>> = {
  KYC_REQUIRED: "kyc",
  JURISDICTION_UNKNOWN: "jurisdictions",
  JURISDICTION_BLOCKED: "jurisdictions",
  SUITABILITY_REQUIRED: "suitability",
};

/**
 * How changed rules about who may trade would have worked, checked with the rules that admit trades, for users in their
 * current state. If a user has no recorded jurisdiction, each token decides, so the lists are not applied.
 */
function standingImpact(groups: readonly Standing[], before: Terms, after: Terms): RuleImpact[] {
  const listsChange = differs(before, after, ({ policy }) => policy.jurisdictions);
  const impacts = new Map<Rule, { trades: number; micro: bigint; users: number }>();
  const at = (rule: Rule) => {
    const impact = impacts.get(rule) ?? { trades: 0, micro: 0n, users: 0 };
    impacts.set(rule, impact);
    return impact;
  };
  let unknown = 0;
  for (const group of groups) {
    const [was, is] = [refusalOf(group, before), refusalOf(group, after)];
    if (group.jurisdiction === null && listsChange) unknown += group.trades;
    if (was === undefined && is !== undefined) {
      const impact = at(is);
      impact.trades += group.trades;
      impact.micro += group.volumeMicro;
    }
    if (was !== undefined && is === undefined) at(was).users += group.users;
  }
  if (unknown > 0) at("jurisdictions");
  return [...impacts].map(([rule, { trades, micro, users }]) => ({
    rule,
    refused: { trades, usd: usdFromMicro(micro) },
    admittedUsers: users,
    note:
      rule === "jurisdictions" && unknown > 0
        ? `by the users' current state; for ${counted(unknown, "trade")} only the user's token stated the jurisdiction`
        : "by the users' current state",
  }));
}

function refusalOf(trader: TraderStanding, { policy, kycRequired }: Terms): Rule | undefined {
  // A user's restriction is not a rule of the policy.
  const unrestricted = { ...trader, restricted: false };
  const known = trader.jurisdiction === null ? { ...policy, jurisdictions: { allowed: [], blocked: [] } } : policy;
  try {
    requireEligible(unrestricted, known, { kycRequired, claimed: undefined });
    return undefined;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return RULES[error.code];
  }
}
