import { anchorFilesOf } from "../../config/anchor-files.ts";
import { ConfigError } from "../../config/config-error.ts";
import { loadEnvironment } from "../../config/environment.ts";
import type { StatedDatabaseUrl } from "../../config/schema/database-schema.ts";
import type { SecretReference } from "../../config/schema/scalars.ts";
import { databaseUrl } from "../../config/secrets/database-url.ts";
import { resolveSecret } from "../../config/secrets/secrets.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import { loadTenant, loadTenantFile, type Tenant } from "../../config/tenant-file.ts";
import { openWorkspace, pickTenant, tenantPath } from "../../config/workspace.ts";
import { Fault } from "../../domain/fault.ts";

/** A tenant in the operator's directory, before anything is connected. */
export interface OperatorTenant {
  id: string;
  directory: string;
  config: TenantConfig;
  /**
   * The value of a secret. Commands only read the secrets that they use, so a laptop that talks to the server needs no
   * more than the admin key.
   *
   * @param path the reference's place in the tenant file
   * @throws Fault CONFIG_INVALID naming the missing variable or file, and the line
   */
  secret(reference: SecretReference, path: readonly (string | number)[]): string;
}

/** A tenant with the markets of its files. */
export interface DeclaredTenant extends OperatorTenant, Tenant {}

/** The connection strings of an external database. */
export interface DatabaseUrls {
  /** For the login that serves. */
  url: string;
  /** For the owner; undefined where the login that serves is the owner. */
  ownerUrl: string | undefined;
}

/**
 * Reads the file of the command's tenant.
 *
 * @throws Fault NOT_FOUND or USAGE when the line does not mean exactly one tenant; ConfigError for an invalid file
 */
export function readOperatorTenant(named?: string, directory?: string): OperatorTenant {
  const workspace = openWorkspace(directory);
  const config = loadTenantFile(tenantPath(workspace.directory, pickTenant(workspace, named)));
  return { id: config.tenant, directory: workspace.directory, config, secret: secretsOf(config, workspace.directory) };
}

/**
 * Reads a tenant's file and its market files.
 *
 * @param file of the tenant, if it is not in the directory's own tenants folder
 * @throws ConfigError with every problem of all files
 */
export function readDeclaredTenant(directory: string, id: string, file = tenantPath(directory, id)): DeclaredTenant {
  const { config, markets } = loadTenant(file);
  return { id, directory, config, markets, secret: secretsOf(config, directory) };
}

function secretsOf({ source }: TenantConfig, directory: string): OperatorTenant["secret"] {
  const environment = loadEnvironment(directory);
  return (reference, path) => {
    const where = () => {
      const { file, line, column } = source.positionOf(path);
      return `${file}:${line}:${column}`;
    };
    return resolveSecret(reference, { environment, directory: source.directory, roots: source.roots, where });
  };
}

/** The value of a secret; undefined where it is missing. */
export function secretAtHand(
  { secret }: Pick<OperatorTenant, "secret">,
  reference: SecretReference,
  path: readonly (string | number)[],
): string | undefined {
  try {
    return secret(reference, path);
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

/** The keys of the audit chain; the first seals new entries. */
export function auditSecretsOf({ config, secret }: OperatorTenant): [string, ...string[]] {
  const { key, previous } = config.audit;
  return [
    secret(key, ["audit", "key"]),
    ...previous.map((reference, index) => secret(reference, ["audit", "previous", index])),
  ];
}

/** The connection string of the login that serves; undefined for the embedded database. */
export function databaseUrlOf(tenant: OperatorTenant): string | undefined {
  const { database } = tenant.config;
  return database === "embedded" ? undefined : statedUrl(tenant, database.url, "url");
}

/** The connection strings of an external database; undefined for the embedded one. */
export function databaseUrlsOf(tenant: OperatorTenant): DatabaseUrls | undefined {
  const { database } = tenant.config;
  if (database === "embedded") return undefined;
  const { url, ownerUrl } = database;
  return { url: statedUrl(tenant, url, "url"), ownerUrl: ownerUrl && statedUrl(tenant, ownerUrl, "ownerUrl") };
}

/** The connection string of a login; undefined where it is missing or not stated. */
export function databaseUrlAtHand(tenant: OperatorTenant, key: keyof DatabaseUrls): string | undefined {
  const { database } = tenant.config;
  const stated = database === "embedded" ? undefined : database[key];
  try {
    return stated && statedUrl(tenant, stated, key);
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

/**
 * The connection string in a variable of the environment or of the directory's `.env`.
 * @throws Fault CONFIG_INVALID naming the variable, without any part of its value
 */
export function databaseUrlIn({ config, directory }: OperatorTenant, variable: string): string {
  const { directory: folder, roots } = config.source;
  const place = { path: [], directory: folder, roots, read: readVariable };
  const { url, findings } = databaseUrl({ env: variable }, place);
  if (url === undefined) throw new Fault("CONFIG_INVALID", findings.map(({ message }) => message).join("; "));
  return url;

  function readVariable(reference: SecretReference): string {
    return resolveSecret(reference, { environment: loadEnvironment(directory), directory });
  }
}

/** @throws Fault CONFIG_INVALID naming the missing secret, or the unusable part */
function statedUrl({ config, secret }: OperatorTenant, stated: StatedDatabaseUrl, key: keyof DatabaseUrls): string {
  const { source } = config;
  const place = { path: ["database", key], directory: source.directory, roots: source.roots, read: secret };
  const { url, findings } = databaseUrl(stated, place);
  if (url === undefined) throw new ConfigError(source.problems(findings));
  return url;
}

/** The places of a tenant's anchors: its directory, and the files that the tenant file names. */
export function anchorPlaces({ directory, config }: Pick<OperatorTenant, "directory" | "config">) {
  return { directory, files: anchorFilesOf(config) };
}
