import type { Command } from "commander";
import { anchorWarnings } from "../../config/anchor-files.ts";
import { ConfigError } from "../../config/config-error.ts";
import { loadEnvironment } from "../../config/environment.ts";
import { repeatedHosts } from "../../config/hosts.ts";
import { strayGrants } from "../../config/operator-file.ts";
import { checkSecretsAtHand } from "../../config/resolve-tenant.ts";
import { DirectorySecrets, unlessUnsound } from "../../config/secrets/secret-values.ts";
import type { TenantConfig } from "../../config/tenant-config.ts";
import { loadTenant, loadTenantFile } from "../../config/tenant-file.ts";
import { openWorkspace, tenantPath } from "../../config/workspace.ts";
import type { CommandContext, Host } from "../command.ts";
import { type SelectorOptions, selectorOption } from "../input/tenants.ts";
import type { View } from "../output/output.ts";
import { eachTenant } from "./each-tenant.ts";

interface ValidTenant {
  tenant: string;
  file: string;
  markets: number;
}

const view: View<ValidTenant[], ValidTenant> = {
  kind: "list",
  rows: (tenants) => tenants,
  columns: [
    { title: "TENANT", cell: ({ tenant }) => tenant },
    { title: "FILE", cell: ({ file }) => file },
    { title: "MARKETS", cell: ({ markets }) => String(markets) },
    { title: "RESULT", cell: () => "valid" },
  ],
  empty: "There are no tenants here; `pmctl init` makes one",
};

export function register(noun: Command, host: Host): void {
  host.add<SelectorOptions>(
    noun
      .argument("[tenants...]", "tenants to check; all unless given; * and ? match")
      .addOption(selectorOption())
      .description("check tenant files; every problem with its line, column and place"),
    { names: "tenant file markets" },
    runValidate,
  );
}

/**
 * Checks all files before it says anything, so that one run shows every problem. Secrets need not be there; those that are
 * have the shape of their place, and a value of their own.
 */
async function runValidate(context: CommandContext<SelectorOptions>): Promise<void> {
  const { directory, tenants } = openWorkspace();
  const environment = loadEnvironment(directory);
  const others = new DirectorySecrets(directory, environment);
  const configs: TenantConfig[] = [];
  const valid = eachTenant(context, (file): ValidTenant => {
    const { config, markets } = loadTenant(file);
    checkSecretsAtHand(config, environment, others);
    for (const warning of anchorWarnings(config)) context.io.output.note(`Warning: ${warning}`);
    configs.push(config);
    return { tenant: config.tenant, file: config.source.file, markets: markets.length };
  });
  const checked = valid.map(({ tenant }) => tenant);
  const siblings = tenants.filter((tenant) => !checked.includes(tenant));
  const repeated = repeatedHosts([
    ...siblings.flatMap((tenant) => unlessUnsound(() => loadTenantFile(tenantPath(directory, tenant))) ?? []),
    ...configs,
  ]);
  if (repeated.length > 0) throw new ConfigError(repeated);
  await context.io.output.print(valid, view);
  for (const stray of strayGrants(directory)) context.io.output.note(`Warning: ${stray}`);
}
