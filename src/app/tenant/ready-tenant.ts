import { loadEnvironment } from "../../config/environment.ts";
import { resolveOwnerUrl, resolveTenant, type TenantSecrets } from "../../config/resolve-tenant.ts";
import { loadTenant, type Tenant } from "../../config/tenant-file.ts";
import { tenantPath } from "../../config/workspace.ts";
import type { OwnedDatabase } from "../../services/tenant/provision.ts";
import { openAsOwner, openDatabase, type TenantDatabase } from "./database.ts";

/** A tenant with everything that serving it, and applying it to its database, need. */
export interface ReadyTenant extends Tenant {
  directory: string;
  secrets: TenantSecrets;
  database: TenantDatabase;
  /** The database as its owner. @throws Fault CONFIG_INVALID when the owner's connection string is missing */
  openAsOwner(): Promise<OwnedDatabase>;
}

/**
 * Reads a tenant's file, resolves all of its secrets and reaches its database.
 * @param file elsewhere than in the directory's own tenants folder
 * @throws ConfigError with every problem of the file, or every secret that is missing
 */
export async function readyTenant(directory: string, tenant: string, file?: string): Promise<ReadyTenant> {
  const loaded = loadTenant(file ?? tenantPath(directory, tenant));
  const environment = loadEnvironment(directory);
  const secrets = resolveTenant(loaded.config, environment);
  const database = await openDatabase(directory, tenant, secrets.databaseUrl);
  return {
    ...loaded,
    directory,
    secrets,
    database,
    openAsOwner: async () => {
      const { databaseUrl: url } = secrets;
      const { source } = loaded.config;
      const urls =
        url === undefined ? undefined : { url, ownerUrl: resolveOwnerUrl(loaded.config, environment), source };
      return openAsOwner(directory, tenant, urls);
    },
  };
}
