import { loadEnvironment } from "../../config/environment.ts";
import { checkSecretsAtHand, type TenantSecrets } from "../../config/resolve-tenant.ts";
import { resolutionSecretsOf } from "../../config/secrets/secret-places.ts";
import { checkFeeds, type FeedCheck } from "../../oracle/check.ts";
import type { OracleContext, SweepReport } from "../../oracle/context.ts";
import { sweep } from "../../oracle/sweep.ts";
import { type OperatorTenant, readOperatorTenant } from "../tenant/operator-tenant.ts";
import type { Session } from "../tenant/session.ts";
import { openOracle, tenantFeeds } from "../tenant/tenant-oracle.ts";

export type { FeedCheck } from "../../oracle/check.ts";
export type { SweepReport } from "../../oracle/context.ts";

/** A feed as the tenant has it. */
export interface FeedLine {
  feed: string;
  sources: string[];
  /** Sources that would need something of the tenant file, and what. */
  lacking: string[];
  quorum: number;
  maxAgeSec: number;
}

/** Every feed with its sources, as the tenant file has them. */
export function feedLines({ config }: OperatorTenant): FeedLine[] {
  const { feeds, lacking } = tenantFeeds(config);
  return [...feeds.values()].map(({ key, sources, quorum, maxAgeMs }) => ({
    feed: key,
    sources: sources.filter(({ use }) => !lacking.has(use)).map(({ use, id }) => `${use} ${id}`),
    lacking: sources.flatMap(({ use }) => (lacking.has(use) ? [`${use}: ${lacking.get(use)}`] : [])),
    quorum,
    maxAgeSec: maxAgeMs / 1000,
  }));
}

/** The tenant's services with its sources, for as long as `work` runs. */
async function withOracle<Result>(
  { tenant, services }: Session,
  secrets: OracleSecrets,
  work: (context: OracleContext) => Promise<Result>,
): Promise<Result> {
  if (!services) throw new Error("the oracle works on the database");
  const context = openOracle(tenant.config, secrets, services);
  try {
    return await work(context);
  } finally {
    await context.close();
  }
}

/** What sources are asked with, and the tenant's own oracle. */
export type OracleSecrets = Pick<TenantSecrets, "sourceHeaders" | "sourceQueries" | "resolutionSecrets">;

/**
 * What sources are asked with. Read before a database is started: a secret that cannot be used is known without one.
 * @throws ConfigError with every secret at hand that cannot be used; Fault CONFIG_INVALID for one that is missing
 */
export function oracleSecrets(named: string | undefined): OracleSecrets {
  const { config, directory, secret } = readOperatorTenant(named);
  checkSecretsAtHand(config, loadEnvironment(directory));
  const { sources } = config.oracle;
  const values = (of: "headers" | "query"): TenantSecrets["sourceHeaders"] =>
    Object.fromEntries(
      Object.entries(sources).map(([name, source]) => [
        name,
        Object.fromEntries(
          Object.entries(source[of] ?? {}).map(([key, value]) => [
            key,
            typeof value === "string" ? value : secret(value, ["oracle", "sources", name, of, key]),
          ]),
        ),
      ]),
    );
  const resolutionSecrets = resolutionSecretsOf(config).map(({ reference, path }) => secret(reference, path));
  return { sourceHeaders: values("headers"), sourceQueries: values("query"), resolutionSecrets };
}

/** Asks every source once, of all feeds or those that are named, and stores nothing. */
export function checkOnce(session: Session, secrets: OracleSecrets, names: readonly string[]): Promise<FeedCheck[]> {
  return withOracle(session, secrets, async (context) => {
    const wanted = names.map((name) => name.toLowerCase());
    const feeds = [...context.services.oracle.feeds.values()];
    return checkFeeds(context, wanted.length === 0 ? feeds : feeds.filter(({ key }) => wanted.includes(key)));
  });
}

/** Looks once at every market whose time has come. */
export function sweepOnce(session: Session, secrets: OracleSecrets): Promise<SweepReport> {
  return withOracle(session, secrets, sweep);
}
