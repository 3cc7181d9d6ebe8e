import { everyPage } from "../../client/pages.ts";
import { anchorWarnings } from "../../config/anchor-files.ts";
import { headlineOf } from "../../config/config-error.ts";
import type { KeyAtHand } from "../../config/resolve-tenant.ts";
import type { Api, WireInput } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import type { FeedDefinition } from "../../domain/feeds/feed.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { parseTimestamp } from "../../domain/time/timestamp.ts";
import { feedsOf, judge, questionsOf, referenceWarnings } from "../../plan/judge.ts";
import { makePlan, neverApplied } from "../../plan/plan.ts";
import { desiredByApply, desiredByFiles } from "../../plan/plan-desired.ts";
import type { Desired, LiveConfig, Plan, UnsettledMarket } from "../../plan/plan-types.ts";
import type { ConfigSession, LiveTenant } from "../tenant/config-session.ts";
import type { TenantSession } from "../tenant/session.ts";
import { tenantFeeds } from "../tenant/tenant-oracle.ts";

/** A plan, and the two states that it compares. */
export interface PlannedTenant {
  plan: Plan;
  desired: Desired;
  live: LiveConfig;
}

/** Returns the state that a tenant should have, from its files or from the document of an earlier apply. */
export type Source = (live: LiveConfig, api: Api | undefined) => Desired | Promise<Desired>;

/**
 * The state that the tenant's files describe.
 * @param targets the only fields to plan
 */
export function fromFiles(
  tenant: Pick<ConfigSession, "config" | "markets">,
  keys: readonly KeyAtHand[],
  targets?: readonly string[],
): Source {
  return (live) => desiredByFiles(tenant, keys, live, targets);
}

/**
 * The document of an earlier apply. It holds no values of keys, so keys stay as they are.
 * @throws Fault NOT_FOUND when that audit entry is not an apply, REFUSED when this version cannot read its document
 */
export function fromHistory(seq: number): Source {
  return async (live, api) => {
    if (!api) throw new Fault("NOT_FOUND", `Nothing was applied yet, so there is no apply ${seq} to go back to`);
    return desiredByApply(await api.getApply({ seq }), live);
  };
}

/** Plans against the live state; undefined for a tenant that was never applied. */
export async function planOn(
  tenant: Pick<LiveTenant, "api" | "config" | "scopes"> | undefined,
  source: Source,
  { feeds, config }: Pick<ConfigSession, "feeds" | "config">,
): Promise<PlannedTenant> {
  const api = tenant?.api;
  const known = tenant?.config ?? neverApplied(config.tenant, wallClockMs());
  const desired = await source(known, api);
  const live = await withUnkeyed(known, desired, api);
  const found = makePlan(desired, live);
  const asked = questionsOf(found, desired, live, feeds);
  const trades = api && asked.rules ? await api.previewPolicy(asked.rules) : null;
  const prices = await lastPrices(asked.feeds, api);
  const judged = judge(found, desired, live, { feeds, prices, scopes: tenant?.scopes, trades });
  if (config.rules.length === 0) return { plan: judged, desired, live };
  const { judgeByRules } = await import("../../plan/rules/rules.ts");
  return { plan: judgeByRules(judged, desired, live, config), desired, live };
}

/**
 * Plans from the files and changes nothing: not even a database is created.
 * @param targets the only fields to plan
 * @returns also the opened tenant; undefined where it was never applied
 * @throws ConfigError naming the keys whose values cannot be used
 */
export async function planTenant(
  session: ConfigSession,
  targets?: readonly string[],
): Promise<PlannedTenant & { tenant: LiveTenant | undefined }> {
  const source = fromFiles(session, session.keysAtHand(), targets);
  const tenant = await session.open();
  const planned = await planOn(tenant, source, session);
  const warnings = [...planned.plan.warnings, ...anchorWarnings(session.config).map(headlineOf)];
  return { ...planned, plan: { ...planned.plan, warnings }, tenant };
}

/** Reads the unsettled markets, also those without a key. */
export function readUnsettled(api: Api): Promise<UnsettledMarket[]> {
  return everyPage((page) => api.listUnsettledMarkets(page));
}

/** Adds the markets without a key where the files take over such a market; most plans need no request for it. */
async function withUnkeyed(
  live: LiveConfig,
  { document, imports = {} }: Desired,
  api: Api | undefined,
): Promise<LiveConfig> {
  const keyed = new Set(live.markets.map(({ id }) => id));
  const isAsked = Object.entries(imports).some(([key, id]) => Object.hasOwn(document.declared, key) && !keyed.has(id));
  if (!isAsked) return live;
  const markets = api ? await readUnsettled(api) : [];
  return { ...live, unkeyed: markets.filter(({ key }) => key === null) };
}

/** The feeds of one request. */
const FEEDS_AT_ONCE = 200;

/** @param api undefined for a tenant that was never applied, which has no prices */
async function lastPrices(feeds: readonly FeedDefinition[], api: Api | undefined): Promise<Map<string, string | null>> {
  const latest = new Map<string, string | null>();
  const asked = feeds.map(({ key, sources }) => ({ key, sources: [...sources] }));
  for (let start = 0; api && start < asked.length; start += FEEDS_AT_ONCE) {
    const answered = await api.listLatestPrices({ feeds: asked.slice(start, start + FEEDS_AT_ONCE) });
    for (const { key, price } of answered) latest.set(key, price);
  }
  return latest;
}

/** Likely mistakes in a market before it is created. */
export async function marketWarnings(
  { resolutionRef, meta = {}, closeAt }: Pick<WireInput<"createMarket">, "resolutionRef" | "meta" | "closeAt">,
  { tenant, api }: TenantSession,
): Promise<string[]> {
  const closing = parseTimestamp(closeAt);
  // The API refuses an invalid time itself.
  if (closing === undefined) return [];
  const market = { resolutionRef, meta, closeAt: closing };
  const feeds = tenantFeeds(tenant.config);
  return referenceWarnings(market, feeds, await lastPrices(feedsOf([market], feeds), api()));
}
