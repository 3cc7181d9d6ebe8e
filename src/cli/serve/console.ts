import { type Command, Option } from "commander";
import { openWorkspace } from "../../config/workspace.ts";
import { Fault } from "../../domain/fault.ts";
import type { CommandContext, Host } from "../command.ts";
import { READS_FILES } from "../errors.ts";
import { identifier } from "../input/parsers.ts";
import { oneTenant } from "../input/tenants.ts";
import type { View } from "../output/output.ts";
import { openBrowser } from "./show-page.ts";

interface ConsoleOptions {
  open?: true;
}

interface ConsoleAddress {
  tenant: string;
  url: string;
}

const view: View<ConsoleAddress, ConsoleAddress> = { kind: "text", text: ({ url }) => url };

export function register(noun: Command, host: Host): void {
  host.add<ConsoleOptions>(
    noun
      .argument("[tenant]", "the tenant", identifier)
      .addOption(new Option("--open", "open the page in a browser"))
      .description(
        "print the address of the operator's console, a page of the tenant's server on this machine. People sign in there with an admin key; its scopes decide what they may do",
      ),
    {
      names: "tenant url",
      ends: { ...READS_FILES, 7: "the tenant file turns the console off", 9: "no server of the tenant runs here" },
    },
    runConsole,
  );
}

async function runConsole({ options, args: [named], io }: CommandContext<ConsoleOptions>): Promise<void> {
  if (options.via === "db" || options.url !== undefined)
    throw new Fault("USAGE", "console asks the tenant's server on this machine: leave out --via and --url");
  const workspace = openWorkspace();
  const tenant = oneTenant(workspace, named ?? options.tenant);
  const { findConsole } = await import("../../app/serve/find-console.ts");
  const { readDeclaredTenant } = await import("../../app/tenant/operator-tenant.ts");
  const url = await findConsole(readDeclaredTenant(workspace.directory, tenant));
  await io.output.print({ tenant, url }, view);
  if (options.open) await openBrowser(url, io.output);
}
