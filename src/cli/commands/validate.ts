import type { Command } from "commander";
import { ConfigError } from "../../config/config-error.ts";
import { loadTenant } from "../../config/tenant-file.ts";
import { openWorkspace, pickTenant, tenantPath } from "../../config/workspace.ts";
import type { CommandContext, ExitCode, Host } from "../command.ts";
import { EXIT } from "../errors.ts";
import type { View } from "../output.ts";

interface ValidTenant {
  tenant: string;
  file: string;
  markets: number;
}

const view: View<ValidTenant[], ValidTenant> = {
  kind: "list",
  rows: (tenants) => tenants,
  columns: [
    { title: "tenant", cell: ({ tenant }) => tenant },
    { title: "file", cell: ({ file }) => file },
    { title: "markets", cell: ({ markets }) => String(markets) },
    { title: "result", cell: () => "valid" },
  ],
  empty: "There are no tenants here; `pmctl init` makes one",
};

export function register(noun: Command, host: Host): void {
  noun
    .argument("[tenants...]", "tenants to check; all unless given")
    .description("check tenant files; every problem with its line, column and place")
    .action(host.action(runValidate));
}

/** Checks all files before it says anything, so that one run shows every problem. Secrets need not be there. */
export async function runValidate({ options, args, io }: CommandContext<object>): Promise<ExitCode> {
  const workspace = openWorkspace();
  const named = args.length > 0 ? args : options.tenant === undefined ? workspace.tenants : [options.tenant];
  const valid: ValidTenant[] = [];
  const problems: ConfigError["problems"][number][] = [];
  for (const name of named) {
    try {
      const { config, markets } = loadTenant(tenantPath(workspace.directory, pickTenant(workspace, name)));
      valid.push({ tenant: config.tenant, file: config.source.file, markets: markets.length });
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      problems.push(...error.problems);
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  await io.output.print(valid, view);
  return EXIT.ok;
}
