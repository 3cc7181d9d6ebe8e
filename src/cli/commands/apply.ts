import { execa } from "execa";
import type { TenantSecrets } from "../../config/resolve-tenant.ts";
import type { TenantConfig } from "../../config/tenant-file.ts";
import { canonicalJson, type Json } from "../../domain/audit-link.ts";
import { microFromUsd } from "../../domain/money.ts";
import type { ApplyConfig } from "../../engine/commands.ts";
import { hashApiKey } from "../../services/provision.ts";

/** What apply sends for a tenant: the file's state with secrets replaced by what may be stored of them. */
export function applyCommand(
  config: TenantConfig,
  secrets: TenantSecrets,
  gitCommit: string | undefined,
): Omit<ApplyConfig, "type"> {
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
export async function currentCommit(directory: string): Promise<string | undefined> {
  const { stdout, exitCode } = await execa("git", ["rev-parse", "--verify", "HEAD"], {
    cwd: directory,
    reject: false,
    stdin: "ignore",
    timeout: 5000,
  });
  return exitCode === 0 ? stdout.trim() : undefined;
}
