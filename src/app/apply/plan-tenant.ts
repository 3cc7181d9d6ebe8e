import { everyPage } from "../../client/pages.ts";
import { anchorWarnings } from "../../config/anchor-files.ts";
import { ConfigError, headlineOf } from "../../config/config-error.ts";
import type { KeyAtHand } from "../../config/resolve-tenant.ts";
import { describeReference } from "../../config/secrets/secrets.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import type { Api } from "../../contract/operations.ts";
import { type ConfigDocument, ConfigDocumentInput } from "../../contract/resources/config-document.ts";
import { hashApiKey, keyFingerprint } from "../../domain/access/api-key.ts";
import { Fault } from "../../domain/fault.ts";
import { wallClockMs } from "../../domain/time/clock.ts";
import { changesRules, makePlan, marketMoney, termsOf } from "../../plan/plan.ts";
import { createdMarket } from "../../plan/plan-compare.ts";
import { scopeWarnings } from "../../plan/plan-decision.ts";
import { documentOf, importsOf, movedOf, onlyTargets } from "../../plan/plan-document.ts";
import { assumedFingerprint } from "../../plan/plan-keys.ts";
import { meantBy, movedBack, takenBack } from "../../plan/plan-left.ts";
import type {
  BrokenRule,
  Desired,
  DesiredKey,
  LiveConfig,
  Plan,
  PlanMoney,
  UnsettledMarket,
} from "../../plan/plan-types.ts";
import type { ConfigSession, LiveTenant } from "../tenant/config-session.ts";
import { liveConfigOf, neverApplied } from "./live-config.ts";
import { manyReferenceWarnings } from "./market-warnings.ts";

/** A plan, and the two states that it compares. */
export interface PlannedTenant {
  plan: Plan;
  desired: Desired;
  live: LiveConfig;
}

/** Where the state that a tenant is to have comes from: its files, or the document of an earlier apply. */
export type Source = (live: LiveConfig, api: Api | undefined) => Promise<Desired>;

/**
 * The state that the tenant's files describe.
 * @param targets the fields that alone are meant
 */
export function fromFiles(
  { config, markets }: Pick<ConfigSession, "config" | "markets">,
  keysAtHand: readonly KeyAtHand[],
  targets?: readonly string[],
): Source {
  return async (live) => {
    const keys = keysAtHand.map(({ value, expires, ...key }): DesiredKey => {
      const hash = value === undefined ? undefined : hashApiKey(value);
      const fingerprint = hash === undefined ? assumedFingerprint(key.name, live) : keyFingerprint(hash);
      const stated = config.keys[key.type].find(({ name }) => name === key.name);
      const reference = stated && describeReference(stated.secret).replace(/^env /, "");
      return { ...key, hash, fingerprint, reference, expiresAt: expires ?? null };
    });
    const document = documentOf(config, markets, keys);
    const { sha256: fileSha256 } = config.source;
    const asked = { fileSha256, document, targets: targets === undefined ? null : [...targets] };
    const whole = { document, keys, fileSha256, moved: movedOf(markets), imports: importsOf(markets), asked };
    return targets ? onlyTargets(whole, live, targets) : whole;
  };
}

/**
 * The document of an earlier apply. It holds no values of keys, so keys stay as they are.
 * @throws Fault NOT_FOUND when that audit entry is no apply, REFUSED when this version cannot read its document
 */
export function fromHistory(seq: number): Source {
  return async (live, api) => {
    if (!api) throw new Fault("NOT_FOUND", `Nothing was applied yet, so there is no apply ${seq} to go back to`);
    const { document, fileSha256, gitCommit, livePolicy } = await api.getApply({ seq });
    if (!ConfigDocumentInput.safeParse(document).success)
      throw new Fault("REFUSED", `The document of entry ${seq} is not one that this version can apply`);
    const stored = document as ConfigDocument;
    const meant = meantBy(stored);
    const stated = await statedSince(seq, api, live);
    return {
      document: { ...meant, policy: takenBack(meant.policy, stated, livePolicy), adopted: {} },
      stored,
      keys: undefined,
      moved: movedBack(stored, live),
      fileSha256: String(fileSha256),
      gitCommit,
      asked: { rollbackTo: seq },
    };
  };
}

/** The sections of the policy that applies after an entry stated or changed. */
async function statedSince(seq: number, api: Api, { document }: LiveConfig): Promise<Set<string>> {
  const names = new Set(Object.keys(document?.policy ?? {}));
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await api.listApplies({ limit: 200, cursor });
    const later = page.items.filter((each) => each.seq > seq);
    for (const name of later.flatMap(({ policy }) => policy)) names.add(name);
    cursor = later.length < page.items.length ? null : page.nextCursor;
  }
  return names;
}

/** Plans on what is live; undefined stands for a tenant that was never applied. */
export async function planOn(
  tenant: LiveTenant | undefined,
  source: Source,
  { feeds, config }: Pick<ConfigSession, "feeds" | "config">,
): Promise<PlannedTenant> {
  const known = tenant ? liveConfigOf(tenant.config) : neverApplied(wallClockMs());
  const desired = keepKeys(await source(known, tenant?.api), known);
  const live = await withUnkeyed(known, desired, tenant?.api);
  const plan = makePlan(desired, live, tenant?.config.changes);
  const money = await readPlanMoney(tenant?.api, plan, desired, live);
  const created = new Set(plan.items.flatMap((item) => createdMarket(item) ?? []));
  const fresh = Object.entries(desired.document.declared).filter(([key]) => created.has(key));
  const found = await manyReferenceWarnings(new Map(fresh), feeds, tenant?.api);
  const ofMarkets = [...found].flatMap(([key, warnings]) => warnings.map((warning) => `markets.${key}: ${warning}`));
  const ofScopes = scopeWarnings(plan, desired, live, tenant?.scopes);
  const { rules, warnings: ofRules } = await judgedByRules({ plan, desired, live, money }, config);
  const warnings = [...plan.warnings, ...ofMarkets, ...ofScopes, ...ofRules];
  return { plan: { ...plan, warnings, ...(rules.length > 0 && { rules }), money }, desired, live };
}

/**
 * What the operator's rules say of a plan.
 * @throws ConfigError with the rules that cannot be evaluated
 */
async function judgedByRules(
  planned: PlannedTenant & { money: PlanMoney },
  { rules, labels, source }: TenantConfig,
): Promise<{ rules: BrokenRule[]; warnings: string[] }> {
  if (rules.length === 0) return { rules: [], warnings: [] };
  const { evaluateRules, factsOfPlan } = await import("../../plan/rules/rules.ts");
  const { broken, invalid } = evaluateRules(rules, factsOfPlan(planned, labels));
  if (invalid.length > 0) throw new ConfigError(source.problems(invalid));
  const warned = broken.filter(({ effect }) => effect === "warn");
  return {
    rules: broken
      .filter(({ effect }) => effect !== "warn")
      .map(({ name, effect, message }) => ({ name, effect, message })),
    warnings: warned.map(({ name, message }) => `rules.${name}: ${message}`),
  };
}

/** What new markets of a plan may lose, and what its changed rules would have meant for the last 30 days of trades. */
export async function readPlanMoney(
  api: Api | undefined,
  plan: Plan,
  desired: Desired,
  live: LiveConfig,
): Promise<PlanMoney> {
  const terms = termsOf(plan, desired, live);
  const isPreviewed = live.version > 0 && changesRules(terms);
  const trades = api && isPreviewed ? await api.previewPolicy(terms) : null;
  return { ...marketMoney(plan, desired, live), trades };
}

/** A source without keys keeps the keys that were applied. */
function keepKeys(desired: Desired, { document }: LiveConfig): Desired {
  if (desired.keys || document === undefined) return desired;
  const { keyring = {} } = document;
  return { ...desired, document: { ...desired.document, keyring } };
}

/** What a plan of the files is to hold, beyond all that they say. */
interface PlanTerms {
  /** The fields that alone are meant. */
  targets?: readonly string[] | undefined;
  /** From when on recorded commands are decided again under the proposed policy, milliseconds since 1970. */
  replayFrom?: number | undefined;
}

/**
 * Plans what the files say and changes nothing: not even a database is created.
 * @throws ConfigError naming the keys whose values cannot be used
 */
export async function planTenant(
  session: ConfigSession,
  { targets, replayFrom }: PlanTerms = {},
): Promise<PlannedTenant> {
  const source = fromFiles(session, session.keysAtHand(), targets);
  const tenant = await session.open();
  const planned = await planOn(tenant, source, session);
  const warnings = [...planned.plan.warnings, ...anchorWarnings(session.config).map(headlineOf)];
  const plan: Plan = { ...planned.plan, warnings };
  if (replayFrom === undefined) return { ...planned, plan };
  const { after } = termsOf(plan, planned.desired, planned.live);
  const { replayUnder } = await import("../replay/replay-window.ts");
  const replay = await replayUnder(after, tenant, { from: replayFrom, to: planned.live.now });
  return { ...planned, plan: { ...plan, replay } };
}

/** The markets that are not settled, those without a key too. */
export async function readUnsettled(api: Api): Promise<UnsettledMarket[]> {
  const markets = await everyPage((page) => api.listUnsettledMarkets(page));
  return markets.map(({ closeAt, ...market }) => ({ ...market, closeAt: Date.parse(closeAt) }));
}

/** Adds the markets without a key where the files take one over that has none yet; most plans ask for nothing. */
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
