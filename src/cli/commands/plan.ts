import type { Command } from "commander";
import { openWorkspace, pickTenant } from "../../config/workspace.ts";
import type { CommandContext, ExitCode, Host } from "../command.ts";
import { EXIT } from "../errors.ts";
import { noteRest, planView, type ShownPlan } from "../plan-view.ts";
import { planMarkdown, writeStepSummary } from "../step-summary.ts";

interface PlanOptions {
  out?: string;
  detailedExitcode?: boolean;
}

export function register(noun: Command, host: Host): void {
  noun
    .argument("[tenants...]", "tenants to plan; the only one unless given")
    .option("--out <file>", "save the plan, for pmctl apply FILE")
    .option("--detailed-exitcode", "end with 2 when there is something to apply")
    .description("what an apply would do; changes nothing")
    .action(host.action<PlanOptions>(runPlan));
}

/** Plans each tenant and prints all of it, or nothing when one of them cannot be planned. */
export async function runPlan({ options, args, io }: CommandContext<PlanOptions>): Promise<ExitCode> {
  const [{ readyTenant }, { planTenant }, { shownPlan }] = await Promise.all([
    import("../apply-tenant.ts"),
    import("../plan-tenant.ts"),
    import("../plan-view.ts"),
  ]);
  const workspace = openWorkspace();
  const names = args.length > 0 ? args : [options.tenant];
  const plans: ShownPlan[] = [];
  for (const name of names) {
    const ready = await readyTenant(workspace.directory, pickTenant(workspace, name));
    plans.push(shownPlan((await planTenant(ready)).plan));
  }
  if (options.out !== undefined) {
    const { savePlans } = await import("../plan-file.ts");
    savePlans(options.out, plans);
    io.output.note(`Saved; carry it out with pmctl apply ${options.out}`);
  }
  await io.output.print(plans, planView);
  for (const plan of plans) {
    noteRest(plan, io.output);
    writeStepSummary(() => planMarkdown(plan));
  }
  return options.detailedExitcode && plans.some(({ empty }) => !empty) ? EXIT.planned : EXIT.ok;
}
