import { loadEnvironment } from "../../config/environment.ts";
import type { SecretReference } from "../../config/schema/scalars.ts";
import { resolveSecret } from "../../config/secrets/secrets.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import { loadTenantFile } from "../../config/tenant-file.ts";
import { openWorkspace, pickTenant, tenantPath } from "../../config/workspace.ts";
import type { DatabaseUrls } from "./database.ts";

/** A tenant as the operator's directory describes it, before anything is connected. */
export interface OperatorTenant {
  id: string;
  /** The operator's directory. */
  directory: string;
  config: TenantConfig;
  /**
   * The value of one secret. Commands ask for those that they use, so that a laptop that only talks to the server needs
   * no more than the admin key.
   *
   * @param path where the reference stands in the tenant file
   * @throws Fault CONFIG_INVALID naming the variable or file that is missing, and the line
   */
  secret(reference: SecretReference, path: readonly (string | number)[]): string;
}

/**
 * Reads the file of the tenant that a command means.
 *
 * @throws Fault NOT_FOUND or USAGE when it is not plain which; ConfigError when its file is not valid
 */
export function readOperatorTenant(named?: string, directory?: string): OperatorTenant {
  const workspace = openWorkspace(directory);
  const id = pickTenant(workspace, named);
  const config = loadTenantFile(tenantPath(workspace.directory, id));
  const environment = loadEnvironment(workspace.directory);
  const { source } = config;
  return {
    id,
    directory: workspace.directory,
    config,
    secret: (reference, path) => {
      const { file, line, column } = source.positionOf(path);
      const where = `${file}:${line}:${column}`;
      return resolveSecret(reference, { environment, directory: source.directory, roots: source.roots, where });
    },
  };
}

/** The keys of the audit chain, the one that seals new entries first. */
export function auditSecretsOf({ config, secret }: OperatorTenant): [string, ...string[]] {
  const { key, previous } = config.audit;
  return [
    secret(key, ["audit", "key"]),
    ...previous.map((reference, index) => secret(reference, ["audit", "previous", index])),
  ];
}

/** The connection string of the login that serves; undefined for the embedded database. */
export function databaseUrlOf({ config, secret }: OperatorTenant): string | undefined {
  return config.database === "embedded" ? undefined : secret(config.database.url, ["database", "url"]);
}

/** The connection strings of an external database; undefined for the embedded one. */
export function databaseUrlsOf({ config, secret }: OperatorTenant): DatabaseUrls | undefined {
  if (config.database === "embedded") return undefined;
  const { url, ownerUrl } = config.database;
  return {
    url: secret(url, ["database", "url"]),
    ownerUrl: ownerUrl && secret(ownerUrl, ["database", "ownerUrl"]),
    source: config.source,
  };
}
