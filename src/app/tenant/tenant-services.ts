import { connectionsOf, requiredStandbys } from "../../config/tenant-config.ts";
import type { Connection } from "../../postgres/connect.ts";
import type { OracleSetup } from "../../services/oracle/feeds.ts";
import { OF_A_COMMAND } from "../../services/tenant/connections.ts";
import type { TenantOptions } from "../../services/tenant/tenant.ts";
import { anchorPlaces, type OperatorTenant } from "./operator-tenant.ts";
import { tenantFeeds } from "./tenant-oracle.ts";

/**
 * The options of a tenant's services in this process: the feeds of its file, and its anchors.
 * @param auditSecrets the first seals new entries
 */
export function serviceOptions(
  tenant: Pick<OperatorTenant, "id" | "directory" | "config">,
  connection: Connection,
  [auditSecret, ...previousAuditSecrets]: readonly [string, ...string[]],
): TenantOptions & { oracle: OracleSetup } {
  const oracle = tenantFeeds(tenant.config);
  return {
    ...{ tenantId: tenant.id, connection, auditSecret, previousAuditSecrets, oracle },
    ...{ anchors: anchorPlaces(tenant), requiredStandbys: requiredStandbys(tenant.config) },
    connections: connectionsOf(tenant.config),
  };
}

/** The options for one command. */
export function commandOptions(...tenant: Parameters<typeof serviceOptions>): ReturnType<typeof serviceOptions> {
  return { ...serviceOptions(...tenant), connections: OF_A_COMMAND };
}
