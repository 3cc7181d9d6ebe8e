import { loadEnvironment } from "../../config/environment.ts";
import { type OracleSecrets, resolveOracleSecrets } from "../../config/resolve-tenant.ts";
import type { WireResult } from "../../contract/operations.ts";
import { checkFeeds, type FeedCheck } from "../../oracle/check.ts";
import type { OracleContext } from "../../oracle/context.ts";
import { sweep } from "../../oracle/worker.ts";
import { feedLines, namedFeeds } from "../../services/oracle/feeds.ts";
import { chooseDoor, type DoorOptions } from "../tenant/door.ts";
import { type OperatorTenant, readOperatorTenant } from "../tenant/operator-tenant.ts";
import type { TenantSession } from "../tenant/session.ts";
import { openOracle, tenantFeeds } from "../tenant/tenant-oracle.ts";

export type { FeedCheck } from "../../oracle/check.ts";

/** Every feed of the tenant file with its sources. */
export function statedFeeds({ config }: OperatorTenant): WireResult<"listFeeds"> {
  return feedLines(tenantFeeds(config));
}

/** @throws Fault NOT_FOUND where the tenant file has no feed of that name */
export function requireFeeds({ config }: OperatorTenant, names: readonly string[]): void {
  namedFeeds(tenantFeeds(config), names);
}

/** Opens the tenant's services with its sources while `work` runs. */
async function withOracle<Result>(
  { tenant, services }: TenantSession,
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

/**
 * The secrets for asking sources. Read before a database is started, so that an unusable secret is reported at once.
 * @throws ConfigError with every missing or unusable secret
 */
export function oracleSecrets(named: string | undefined): OracleSecrets {
  const { config, directory } = readOperatorTenant(named);
  return resolveOracleSecrets(config, loadEnvironment(directory));
}

/**
 * The secrets for asking sources from the database; undefined where a server asks with its own.
 * @throws ConfigError as {@link oracleSecrets}, and the errors of choosing a door
 */
export async function secretsAtHand({
  tenant: named,
  via,
  url,
  key,
}: DoorOptions & { tenant?: string | undefined }): Promise<OracleSecrets | undefined> {
  const tenant = readOperatorTenant(named);
  const door = await chooseDoor(tenant, { via, url, key });
  return door.kind === "db" ? oracleSecrets(named) : undefined;
}

/** Asks every source of the named feeds, or of all, once; stores nothing. */
export function checkOnce(
  session: TenantSession,
  secrets: OracleSecrets,
  names: readonly string[],
): Promise<FeedCheck[]> {
  return withOracle(session, secrets, (context) => checkFeeds(context, namedFeeds(context.services.oracle, names)));
}

/** Sweeps once, as a server does when asked to: settles or holds every market whose time has come. */
export function sweepOnce(session: TenantSession, secrets: OracleSecrets): Promise<WireResult<"sweepOracle">> {
  return withOracle(session, secrets, (context) => {
    if (session.services) session.services.sweeps.run = () => sweep(context);
    return session.api().sweepOracle({});
  });
}
