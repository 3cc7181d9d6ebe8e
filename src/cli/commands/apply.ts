import type { Command } from "commander";
import { openWorkspace, pickTenant } from "../../config/workspace.ts";
import type { CommandContext, ExitCode, Host } from "../command.ts";
import { EXIT } from "../errors.ts";
import type { View } from "../output.ts";
import { openReceipts } from "../receipts.ts";

export interface AppliedTenant {
  tenant: string;
  changed: boolean;
  /** Migrations that brought the schema forward. */
  migrations: string[];
}

const view: View<AppliedTenant[], AppliedTenant> = {
  kind: "list",
  rows: (applied) => applied,
  columns: [
    { title: "tenant", cell: ({ tenant }) => tenant },
    { title: "result", cell: ({ changed }) => (changed ? "applied" : "nothing to do") },
    { title: "migrations", cell: ({ migrations }) => String(migrations.length) },
  ],
  empty: "There is nothing to apply",
};

export function register(noun: Command, host: Host): void {
  noun
    .argument("[tenants...]", "tenants to apply")
    .description("bring the database to what the tenant file says: schema, keys, treasury, policy")
    .action(host.action(runApply));
}

/** Applies each tenant in a commit of its own; what went wrong with one does not undo another. */
export async function runApply({ options, args, io }: CommandContext<object>): Promise<ExitCode> {
  const { applyTenant, readyTenant } = await import("../apply-tenant.ts");
  const { operatorActor } = await import("../session.ts");
  const workspace = openWorkspace();
  const tenants =
    args.length > 0 ? args.map((name) => pickTenant(workspace, name)) : [pickTenant(workspace, options.tenant)];
  const receipts = openReceipts(options, io.output);
  const applied: AppliedTenant[] = [];
  const failures: ExitCode[] = [];
  try {
    for (const tenant of tenants) {
      try {
        const ready = await readyTenant(workspace.directory, tenant);
        const applying = applyTenant(ready, { actor: operatorActor(), reason: options.reason });
        const { seal, ...result } = await io.output.during(`Applying ${tenant}`, applying);
        if (seal) receipts.onSealed(tenant, seal);
        applied.push({ tenant, ...result });
      } catch (error) {
        if (tenants.length === 1) throw error;
        io.output.note(`${tenant} was not applied:`);
        failures.push(io.output.fail(error));
      }
    }
  } finally {
    receipts.close();
  }
  await io.output.print(applied, view);
  if (failures.length === 0) return EXIT.ok;
  return applied.length > 0 ? EXIT.partly : (failures[0] ?? EXIT.unexpected);
}
