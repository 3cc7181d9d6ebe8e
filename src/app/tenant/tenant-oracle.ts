import { type OracleSecrets, oracleSecretsOf } from "../../config/resolve-tenant.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import type { Json } from "../../domain/audit/audit-link.ts";
import { newMemory, type OracleContext } from "../../oracle/context.ts";
import { type SourceSet, sourceSet } from "../../oracle/sources.ts";
import { OutgoingHttp } from "../../outgoing/guarded-fetch.ts";
import { readClock } from "../../postgres/database-time.ts";
import { readOracleGauges } from "../../queries/oracle.ts";
import { type OracleSetup, oracleSetup } from "../../services/oracle/feeds.ts";
import type { TenantServices } from "../../services/tenant/tenant.ts";

/** The feeds of a tenant's file, including the built-in ones. */
export function tenantFeeds(config: TenantConfig): OracleSetup {
  const { oracle, network } = config;
  const pushed = Object.entries(oracle.sources).flatMap(([name, { push }]) => (push ? [name] : []));
  return oracleSetup(oracle.venues, pushed, network, statedSources(config).lacking, priceDefinitions(config));
}

/** The sources of a tenant's file without its secrets, which do not change what a source answers. */
export function statedSources(config: TenantConfig): SourceSet {
  return tenantSources(
    config,
    oracleSecretsOf(config, () => "stated"),
  );
}

/**
 * The definition of each source's price. Leaves out the host, because a service moves more often than it changes, and
 * headers and timeouts, which decide whether there is an answer but not its content.
 */
function priceDefinitions({ oracle }: TenantConfig): Map<string, Json> {
  return new Map(
    Object.entries(oracle.sources).map(([name, { url, price, conf, time, okWhen, simulated, push, upstream }]) => {
      const place = url?.replace(/^[a-z]+:\/\/[^/?#]*/i, "");
      const stated = { place, price, conf, time, okWhen, simulated, push, upstream };
      // Through JSON, which drops undefined values.
      return [name, JSON.parse(JSON.stringify(stated)) as Json];
    }),
  );
}

type SourceSecrets = Pick<OracleSecrets, "sourceHeaders" | "sourceQueries">;

/** The sources that a tenant can use, and the settings that other sources lack. */
function tenantSources({ oracle }: TenantConfig, { sourceHeaders, sourceQueries }: SourceSecrets): SourceSet {
  const overrides = Object.entries(oracle.sources).map(([name, source]) => [
    name,
    { ...source, headers: sourceHeaders[name], query: sourceQueries[name] },
  ]);
  return sourceSet(Object.fromEntries(overrides));
}

/** The context of a tenant's sweeps and checks; the caller closes it. */
export function openOracle(
  config: TenantConfig,
  secrets: OracleSecrets,
  services: TenantServices,
): OracleContext & { close(): Promise<void> } {
  const http = new OutgoingHttp(config.network);
  return {
    services,
    sources: tenantSources(config, secrets).ready,
    http,
    resolutionSecrets: secrets.resolutionSecrets,
    sweepMs: config.oracle.sweepSeconds * 1000,
    memory: newMemory(),
    now: () => services.pool.read(readClock),
    close: () => http.close(),
  };
}

/** The number of held markets, and the age of each feed's newest observation; leaves out feeds without a recent one. */
export async function oracleGauges({
  pool,
  oracle,
}: Pick<TenantServices, "pool" | "oracle">): Promise<{ held: number; feedAgesSec: Map<string, number> }> {
  const { held, symbols } = await pool.snapshot(readOracleGauges);
  const feedAgesSec = new Map<string, number>();
  for (const { key, sources } of oracle.feeds.values()) {
    const own = symbols.filter(({ source, symbol }) => sources.some(({ use, id }) => use === source && id === symbol));
    if (own.length > 0) feedAgesSec.set(key, Math.min(...own.map(({ ageSec }) => ageSec)));
  }
  return { held, feedAgesSec };
}
