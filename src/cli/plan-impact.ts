import {
  marketMoney,
  type PlanMoney,
  type RuleImpact,
  standingImpact,
  type Terms,
  termsOf,
} from "../config/plan-money.ts";
import type { Desired, LiveConfig, Plan } from "../config/plan-types.ts";
import { limitFromUsd, usdFromMicro } from "../domain/money.ts";
import { exposureCap } from "../domain/trader.ts";
import { type Account, TREASURY } from "../engine/rows.ts";
import type { TenantServices } from "../services/tenant.ts";
import { loadRows } from "../store/load.ts";
import { type CapChange, type LimitImpact, listStandings, readLimitImpact } from "../store/queries/impact.ts";

const DAYS = 30;
const DAY_MS = 86_400_000;
const HIGHEST_SCORE = 20;

/** The money in a plan: what new markets may lose, and what changed rules would have done to the last 30 days. */
export async function readPlanMoney(
  services: TenantServices | undefined,
  plan: Plan,
  desired: Desired,
  live: LiveConfig,
): Promise<PlanMoney> {
  const treasury = services ? await loadRows(services.read, [{ table: "account", key: TREASURY }]) : [];
  const balance = (treasury[0]?.row as Account | null | undefined)?.balanceMicro ?? 0n;
  const money = marketMoney(plan, desired, live, balance);
  const { before, after } = termsOf(plan, desired, live);
  const rules = changedRules(before, after);
  if (!services || live.version === 0 || (!rules.standing && !rules.limits)) return { ...money, trades: null };

  // Whole UTC days, like the reports.
  const since = Math.floor(live.now / DAY_MS) * DAY_MS - (DAYS - 1) * DAY_MS;
  const { read } = services;
  const standings = rules.standing ? await listStandings(read, since) : [];
  const limits = rules.limits ? await limitsOf(services, since, before, after) : undefined;
  return {
    ...money,
    trades: {
      days: DAYS,
      examined: limits?.examined ?? standings.reduce((sum, { trades }) => sum + trades, 0),
      complete: limits?.complete ?? true,
      rules: [...standingImpact(standings, before, after), ...(limits ? limitRules(limits, before, after) : [])],
    },
  };
}

function changedRules(before: Terms, after: Terms): { standing: boolean; limits: boolean } {
  const differs = (part: (terms: Terms) => unknown) => JSON.stringify(part(before)) !== JSON.stringify(part(after));
  const thresholds = differs(({ policy }) => policy.suitabilityThresholds);
  return {
    standing:
      thresholds ||
      differs(({ policy, kycRequired }) => [policy.jurisdictions, policy.suitabilityRequired, kycRequired]),
    limits: thresholds || differs(({ policy }) => [policy.maxTradeUsd, policy.maxUserExposureUsd]),
  };
}

function limitsOf({ read }: TenantServices, since: number, before: Terms, after: Terms): Promise<LimitImpact> {
  const caps: CapChange[] = [];
  for (let score = -1; score <= HIGHEST_SCORE; score++) {
    const trader = { suitabilityScore: score < 0 ? null : score } as Parameters<typeof exposureCap>[0];
    caps.push({
      score,
      beforeMicro: exposureCap(trader, before.policy).capMicro,
      afterMicro: exposureCap(trader, after.policy).capMicro,
    });
  }
  const trade = {
    beforeMicro: limitFromUsd(before.policy.maxTradeUsd),
    afterMicro: limitFromUsd(after.policy.maxTradeUsd),
  };
  return readLimitImpact(read, since, trade, caps);
}

function limitRules(limits: LimitImpact, before: Terms, after: Terms): RuleImpact[] {
  const { overTrade, atTradeLimit, overCap, usersOverCap, usersAtCap } = limits;
  const rules: RuleImpact[] = [];
  const [was, is] = [before.policy.maxTradeUsd, after.policy.maxTradeUsd];
  if (is < was)
    rules.push({
      rule: "maxTradeUsd",
      refused: { trades: overTrade.count, usd: usdFromMicro(overTrade.micro) },
      admittedUsers: null,
      note: `purchases above ${is} USD`,
    });
  if (is > was)
    rules.push({
      rule: "maxTradeUsd",
      refused: { trades: 0, usd: 0 },
      admittedUsers: null,
      note: `refusals are not on record; ${atTradeLimit.count} purchases were of exactly ${was} USD`,
    });
  if (!exposureChanges(before, after)) return rules;
  const over = `${usersOverCap.count} users hold ${usdFromMicro(usersOverCap.micro)} USD above their new cap now`;
  rules.push({
    rule: "maxUserExposureUsd",
    refused: { trades: overCap.count, usd: usdFromMicro(overCap.micro) },
    admittedUsers: null,
    note: `at least: purchases above the cap by themselves; ${over}; ${usersAtCap} were at their old one; refusals are not on record`,
  });
  return rules;
}

function exposureChanges({ policy: before }: Terms, { policy: after }: Terms): boolean {
  const caps = ({ maxUserExposureUsd, suitabilityThresholds: { tiers } }: Terms["policy"]) =>
    JSON.stringify([maxUserExposureUsd, tiers]);
  return caps(before) !== caps(after);
}
