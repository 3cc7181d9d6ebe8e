import { execa } from "execa";
import { loadEnvironment } from "../config/environment.ts";
import { resolveTenant, type TenantSecrets } from "../config/resolve-tenant.ts";
import { loadTenant, type Tenant, type TenantConfig } from "../config/tenant-file.ts";
import { tenantPath } from "../config/workspace.ts";
import { canonicalJson, type Json } from "../domain/audit-link.ts";
import { microFromUsd } from "../domain/money.ts";
import { hashApiKey, type Provisioned, type ProvisionOptions, provision } from "../services/provision.ts";
import { openDatabase, type TenantDatabase } from "./database.ts";

/** A tenant with everything that applying and serving it need. */
export interface ReadyTenant extends Tenant {
  directory: string;
  secrets: TenantSecrets;
  database: TenantDatabase;
}

/**
 * Reads a tenant's file, resolves all of its secrets and reaches its database.
 * @param file elsewhere than in the directory's own tenants folder
 * @throws ConfigError with every problem of the file, or every secret that is missing
 */
export async function readyTenant(directory: string, tenant: string, file?: string): Promise<ReadyTenant> {
  const loaded = loadTenant(file ?? tenantPath(directory, tenant));
  const secrets = resolveTenant(loaded.config, loadEnvironment(directory));
  const database = await openDatabase(directory, tenant, secrets.databaseUrl);
  return { ...loaded, directory, secrets, database };
}

/** Brings a tenant's database to what its file says. A second run changes nothing. */
export async function applyTenant(
  { config, secrets, database, directory }: ReadyTenant,
  { actor, reason }: Pick<ProvisionOptions, "actor" | "reason">,
): Promise<Provisioned> {
  return provision({
    tenantId: config.tenant,
    connection: database.connection,
    auditSecret: secrets.auditKey,
    previousAuditSecrets: secrets.previousAuditKeys,
    actor,
    reason,
    config: appliedState(config, secrets, await currentCommit(directory)),
  });
}

/** The file's state, with secrets replaced by what may be stored of them. */
function appliedState(
  config: TenantConfig,
  secrets: TenantSecrets,
  gitCommit: string | undefined,
): ProvisionOptions["config"] {
  const { source, ...document } = config;
  return {
    policy: config.policy,
    kycRequired: config.kyc.required,
    liquidityMicro: microFromUsd(config.markets.liquidityUsd) ?? 0n,
    capitalMicro: microFromUsd(config.treasury.capitalUsd) ?? 0n,
    keys: secrets.keys.map(({ name, type, value, expires }) => ({
      name,
      type,
      hash: hashApiKey(value),
      expiresAt: expires ?? null,
    })),
    document: canonicalJson(document as unknown as Json),
    documentSha256: source.sha256,
    gitCommit,
  };
}

/** The commit that the operator's directory stands at; undefined where there is no git or no commit. */
async function currentCommit(directory: string): Promise<string | undefined> {
  const { stdout, exitCode } = await execa("git", ["rev-parse", "--verify", "HEAD"], {
    cwd: directory,
    reject: false,
    stdin: "ignore",
    timeout: 5000,
  });
  return exitCode === 0 ? stdout.trim() : undefined;
}
