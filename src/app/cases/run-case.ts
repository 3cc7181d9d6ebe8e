import { formatPath } from "../../config/config-error.ts";
import { type Case, STEP_REFUSALS, type Step } from "../../config/schema/case-schema.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import { loadTenant } from "../../config/tenant-file.ts";
import type { PlacedMarket } from "../../config/tenant-files/market-files.ts";
import { FEES, TREASURY, walletOf } from "../../domain/accounts.ts";
import { Fault, type FaultCode } from "../../domain/fault.ts";
import { pricesOf, type Side } from "../../domain/market/market.ts";
import { usdFromMicro } from "../../domain/money.ts";
import type { Policy } from "../../domain/policy/policy.ts";
import { monotonicMs } from "../../domain/time/clock.ts";
import { positionKey } from "../../engine/rows.ts";
import { documentOf } from "../../plan/plan-document.ts";
import { loadCases, type PlacedCase } from "./case-files.ts";
import { type CaseTenant, feedsOf } from "./case-tenant.ts";
import { type Difference, differences, micro, perform, setUp, type TenantOfCases } from "./set-up.ts";

/** A place in a case where the result differs from the expectation. */
export interface Failure {
  /** Such as `then.balances.alice`. */
  path: string;
  line: number;
  expected: unknown;
  /** Null for a missing value. */
  actual: unknown;
}

/** The result of a case. */
export interface CaseResult {
  file: string;
  /** The line in which the case begins. */
  line: number;
  name: string;
  ok: boolean;
  ms: number;
  failures: Failure[];
}

/** A case after its run, with the policies that it used. */
export interface RanCase {
  result: CaseResult;
  refused: ReadonlySet<FaultCode>;
  /** The policies of the case and their times; the first is from before any step. */
  policies: readonly { policy: Policy; now: number }[];
}

/** Runs a case from its beginning; cases share no state. */
function runCase(context: TenantOfCases, placed: PlacedCase): RanCase {
  const { spec, source } = placed;
  const startedAt = monotonicMs();
  const { tenant, refusals } = setUp(context, placed);
  const refused = new Set<FaultCode>();
  const policies = [{ policy: tenant.policy, now: tenant.now }];
  const startMicro = micro(spec.given.treasuryUsd ?? context.config.treasury.capitalUsd);
  const play = () => {
    const steps = spec.when.flatMap((step, index) => {
      const { code, differs } = runStep(tenant, step, index, { ...context, spec });
      if (code !== undefined) refused.add(code);
      else if (step.policy) policies.push({ policy: tenant.policy, now: tenant.now });
      return differs;
    });
    return [...steps, ...differences(spec.then, stateOf(tenant, spec, startMicro), ["then"])];
  };
  // A failed set-up makes all later results differ too, so only its own failures are reported.
  const departures = refusals.length > 0 ? refusals : play();
  const failures = departures.map(
    ({ path, expected, actual }): Failure => ({
      path: formatPath(path),
      line: source.positionOf(path).line,
      expected,
      actual,
    }),
  );
  const { file } = source;
  const { line } = source.positionOf([]);
  const ms = Math.round((monotonicMs() - startedAt) * 1000) / 1000;
  return { result: { file, line, name: spec.name, ok: failures.length === 0, ms, failures }, refused, policies };
}

/** Performs a step and compares its result with the expectation: an error, or fields of the result. */
function runStep(
  tenant: CaseTenant,
  step: Step,
  index: number,
  { config, spec }: TenantOfCases & { spec: Case },
): { code?: FaultCode; differs: Difference[] } {
  const { refused: expected = null, ...fields } = step.expect ?? {};
  const path = ["when", index, "expect"];
  // Where an identity check names a jurisdiction, the service ignores the token's.
  const claimedBy = (id: string) => spec.given.users[id]?.jurisdiction;
  try {
    const result = perform(tenant, step, { index, network: config.network, claimedBy });
    if (expected !== null) return { differs: differences(expected, null, [...path, "refused"]) };
    return { differs: differences(fields, result, path) };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { code: error.code, differs: differences(expected, error.code, [...path, "refused"]) };
  }
}

/** The state at the end of a case, in the form in which the service shows it. */
function stateOf(tenant: CaseTenant, { then }: Case, startMicro: bigint) {
  const balanceOf = (account: string) => tenant.rows.get("account", account)?.balanceMicro ?? 0n;
  const [feesMicro, treasuryMicro] = [balanceOf(FEES), balanceOf(TREASURY)];
  return {
    balances: mapKeys(then.balances, (user) => usdFromMicro(balanceOf(walletOf(user)))),
    positions: mapKeys(then.positions, (user) =>
      mapKeys(then.positions?.[user], (market) => positionOf(tenant, user, market, then.positions?.[user]?.[market])),
    ),
    markets: mapKeys(then.markets, (market) => marketOf(tenant, market)),
    house: {
      feesUsd: usdFromMicro(feesMicro),
      treasuryUsd: usdFromMicro(treasuryMicro),
      resultUsd: usdFromMicro(treasuryMicro + feesMicro - startMicro),
    },
  };
}

function mapKeys<Value>(record: object | undefined, show: (key: string) => Value): Record<string, Value> {
  return Object.fromEntries(Object.keys(record ?? {}).map((key) => [key, show(key)]));
}

function marketOf(tenant: CaseTenant, id: string) {
  const found = tenant.market(id);
  if (!found) return null;
  const { market, state, status } = found;
  return { status, yesPrice: pricesOf(market, state).yes, outcome: state.outcome };
}

/**
 * A user's position in an unsettled market: of the expected side, unless only the other side is held. Null for no
 * position, where the case does not state an amount.
 */
function positionOf(
  tenant: CaseTenant,
  user: string,
  market: string,
  expected: { side?: Side | undefined; shares?: number | undefined } | undefined,
) {
  const isSettled = tenant.market(market)?.status === "settled";
  const sharesOf = (side: Side) => {
    const held = isSettled ? undefined : tenant.rows.get("position", positionKey(user, market, side));
    return usdFromMicro(held?.sharesMicro ?? 0n);
  };
  const { side = "yes", shares } = expected ?? {};
  const other: Side = side === "yes" ? "no" : "yes";
  const shown = shares !== 0 && sharesOf(side) === 0 && sharesOf(other) > 0 ? other : side;
  return shares === undefined && sharesOf(shown) === 0 ? null : { side: shown, shares: sharesOf(shown) };
}

/** A tenant's valid files and cases. */
export interface TestedTenant extends TenantOfCases {
  tenant: string;
  markets: readonly PlacedMarket[];
  cases: readonly PlacedCase[];
}

/**
 * Reads the files that a test of a tenant needs, without secrets and database.
 *
 * @param file the tenant file
 * @throws ConfigError with every problem of the tenant's files, else of its cases
 */
export function readTestedTenant(tenant: string, file: string): TestedTenant {
  const { config, markets } = loadTenant(file);
  const feeds = feedsOf(config);
  return { tenant, config, markets, feeds, cases: loadCases(file, [...feeds.feeds.keys()]) };
}

/** Runs the cases whose names match. */
export function runCases(tested: TestedTenant, matches: (name: string) => boolean): RanCase[] {
  return tested.cases.filter(({ spec }) => matches(spec.name)).map((placed) => runCase(tested, placed));
}

/** The errors and rules that cases have met. */
export interface Coverage {
  /** Every error code of a step, with the names of the cases that met it. */
  refusals: { code: FaultCode; cases: string[] }[];
  /** The rules of the tenant files, and how often each was evaluated: once for each policy that a case set. */
  rules: { name: string; evaluated: number }[];
}

export function refusalsMet(cases: readonly RanCase[]): Coverage["refusals"] {
  return STEP_REFUSALS.map((code) => ({
    code,
    cases: cases.flatMap(({ result, refused }) => (refused.has(code) ? [result.name] : [])),
  }));
}

/** Leaves out rules about a plan, because a case has none. */
export async function rulesMet(
  { config, markets }: { config: TenantConfig; markets: readonly PlacedMarket[] },
  cases: readonly RanCase[],
): Promise<Coverage["rules"]> {
  if (config.rules.length === 0) return [];
  const [{ factsOfFiles }, { evaluate }] = await Promise.all([
    import("../../plan/rules/rules.ts"),
    import("../../plan/rules/rules.ts"),
  ]);
  const document = documentOf(config, markets, []);
  const met = cases.flatMap(({ policies }) =>
    policies.map(({ policy, now }) => ({ ...factsOfFiles(document, config.labels, now), ...policy })),
  );
  let isLate = false;
  const isEvaluated = (expr: string, facts: (typeof met)[number]): boolean => {
    if (isLate) return false;
    const outcome = evaluate(expr, facts) ?? {};
    // With hundreds of policies, each would wait for its deadline again.
    isLate = "isLate" in outcome;
    return "value" in outcome;
  };
  return config.rules.map(({ name, expr }) => ({
    name,
    evaluated: met.filter((facts) => isEvaluated(expr, facts)).length,
  }));
}
