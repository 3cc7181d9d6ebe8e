import { createHash } from "node:crypto";
import { makePlan } from "../config/plan.ts";
import { withBlame } from "../config/plan-blame.ts";
import { documentOf } from "../config/plan-document.ts";
import type { ConfigDocument, Desired, LiveConfig, Plan } from "../config/plan-types.ts";
import { canonicalJson, type Json } from "../domain/audit-link.ts";
import { Fault } from "../domain/fault.ts";
import type { FeedDefinition } from "../domain/feed.ts";
import { openIfApplied, readConfiguration } from "../services/configuration.ts";
import type { OracleSetup } from "../services/feeds.ts";
import { hashApiKey } from "../services/provision.ts";
import type { TenantOptions, TenantServices } from "../services/tenant.ts";
import { listApplies } from "../store/queries/configuration.ts";
import { readLatestPrice } from "../store/queries/oracle.ts";
import type { ReadyTenant } from "./apply-tenant.ts";
import { wallClock } from "./clock.ts";
import { keyFingerprint, liveConfigOf } from "./live-config.ts";
import { referenceWarnings } from "./market-warnings.ts";
import { readPlanMoney } from "./plan-impact.ts";
import { tenantFeeds } from "./tenant-oracle.ts";

/** A plan with what it was made of. */
export interface PlannedTenant {
  plan: Plan;
  desired: Desired;
  live: LiveConfig;
}

/** Where the state that a tenant is to have comes from: its files, or the document of an earlier apply. */
export type Source = (services: TenantServices | undefined) => Promise<Desired>;

/** The state that the tenant's files describe. */
export function fromFiles({ config, markets, secrets }: ReadyTenant): Source {
  const keys = secrets.keys.map(({ name, type, value, expires }) => {
    const hash = hashApiKey(value);
    return { name, type, hash, fingerprint: keyFingerprint(hash), expiresAt: expires ?? null };
  });
  const document = documentOf(config, markets, keys);
  const declared = canonicalJson(document.declared as unknown as Json);
  const fileSha256 = createHash("sha256").update(`${config.source.sha256}\n${declared}`).digest("hex");
  return async () => ({ document, keys, fileSha256 });
}

/**
 * The document of an earlier apply. It knows no values of keys, so those stay as they are.
 * @throws Fault NOT_FOUND when that audit entry is no apply
 */
export function fromHistory(seq: number): Source {
  return async (services) => {
    const [entry] = services ? await listApplies(services.read, { limit: 1, seq }) : [];
    const document = entry?.payload.document as ConfigDocument | undefined;
    if (!entry || !document)
      throw new Fault("NOT_FOUND", `Audit entry ${seq} is no apply: pmctl history lists those that are`);
    return { document: { ...document, adopted: {} }, keys: undefined, fileSha256: String(entry.payload.sha256) };
  };
}

/** Plans on an open tenant; undefined for one that was never applied. */
export async function planOn(
  services: TenantServices | undefined,
  source: Source,
  feeds: OracleSetup,
): Promise<PlannedTenant> {
  const rows = services
    ? await readConfiguration(services)
    : { tenant: undefined, keys: [], markets: [], entries: [], now: wallClock() };
  const live = liveConfigOf(rows);
  const desired = keepKeys(await source(services), live);
  const plan = withBlame(makePlan(desired, live), live, rows.entries);
  const money = await readPlanMoney(services, plan, desired, live);
  const warnings = [...plan.warnings, ...(await newMarketWarnings(services, desired, live, feeds))];
  return { plan: { ...plan, warnings, money }, desired, live };
}

/** What is probably wrong with the references of markets that are not there yet. */
async function newMarketWarnings(
  services: TenantServices | undefined,
  { document }: Desired,
  live: LiveConfig,
  feeds: OracleSetup,
): Promise<string[]> {
  const fresh = Object.entries(document.declared).filter(([key]) => !live.markets.some((market) => market.key === key));
  const latestOf = async ({ sources }: FeedDefinition) => services && readLatestPrice(services.read, sources);
  const found = await Promise.all(
    fresh.map(async ([key, market]) =>
      (await referenceWarnings(market, feeds, latestOf)).map((warning) => `markets.${key}: ${warning}`),
    ),
  );
  return found.flat();
}

/** Where keys are left alone, what was applied of them stands on. */
function keepKeys(desired: Desired, { document }: LiveConfig): Desired {
  if (desired.keys || document === undefined) return desired;
  const { keyring = {} } = JSON.parse(document) as Partial<ConfigDocument>;
  return { ...desired, document: { ...desired.document, keyring } };
}

/** Plans and changes nothing: not even a database is made. */
export async function planTenant(ready: ReadyTenant, source = fromFiles(ready)): Promise<PlannedTenant> {
  const services = await openIfApplied(servicesOf(ready));
  try {
    return await planOn(services, source, tenantFeeds(ready.config));
  } finally {
    await services?.close();
  }
}

/** How the services of a tenant are opened for one command. */
export function servicesOf({ config, secrets, database }: ReadyTenant): TenantOptions {
  return {
    tenantId: config.tenant,
    connection: database.connection,
    auditSecret: secrets.auditKey,
    previousAuditSecrets: secrets.previousAuditKeys,
    oracle: tenantFeeds(config),
    readers: 2,
  };
}
