import { existsSync } from "node:fs";
import type { Command } from "commander";
import { DirectorySecrets } from "../../config/secrets/secret-values.ts";
import { tenantsNamed } from "../../config/selection/choose-tenants.ts";
import { openWorkspace, pickTenant, type Workspace } from "../../config/workspace.ts";
import type { Seal } from "../../domain/audit/audit-link.ts";
import { Fault } from "../../domain/fault.ts";
import { type CommandContext, type Host, withConfig } from "../command.ts";
import { ASKS_TENANT, EXIT, type ExitCode } from "../errors.ts";
import type { SelectorOptions } from "../input/selector-option.ts";
import { tenantsMeant } from "../input/tenants.ts";
import { openReceipts } from "../output/receipts.ts";
import { APPLIED_FIELDS, APPLY_ENDS, type AppliedTenant, appliedTenant, appliedView } from "./applied.ts";
import { oneByOne } from "./each-tenant.ts";
import { planTargets, requireOneAddress, type Target } from "./plan.ts";
import {
  type ChoiceOptions,
  choicesOf,
  chooserOf,
  reasonToApply,
  repeatableBy,
  takePlanOptions,
  withAccepted,
} from "./plan-choices.ts";
import { shownPlan } from "./plan-view.ts";
import { planMarkdown, refusalMarkdown, writeStepSummary } from "./step-summary.ts";

type ApplyOptions = ChoiceOptions & SelectorOptions & { dryRun?: boolean; plan?: string };

export function register(noun: Command, host: Host): void {
  host.add<ApplyOptions>(
    takePlanOptions(noun)
      .argument("[tenants...]", "tenants to apply (* and ? match), or the file of a saved plan")
      .option("--plan <file>", "the file of a saved plan, as `pmctl plan --out` writes it")
      .option("--dry-run", "only plan, or check that a saved plan still holds")
      .description("bring the database to the state of the files: schema, keys, treasury, policy, markets"),
    {
      names: APPLIED_FIELDS,
      ends: {
        ...ASKS_TENANT,
        ...APPLY_ENDS,
        2: "changes are planned (`--dry-run --detailed-exitcode`)",
        10: "only some tenants were applied",
      },
      repeatable: true,
    },
    runApply,
  );
}

/** Printed when Ctrl-C interrupts a change that may have been sent already. */
export const IN_DOUBT =
  "Interrupted: a tenant's change was committed as a whole or not at all; pmctl history shows which";

/** Applies each tenant in a commit of its own: the failure of one tenant does not undo the others. */
async function runApply(context: CommandContext<ApplyOptions>): Promise<ExitCode> {
  const { options: given, io, interrupts } = context;
  const workspace = openWorkspace();
  const targets = await targetsOf(workspace, { options: given, args: withPlan(given, context.args) });
  if (given.dryRun) return planTargets(workspace, targets, given, io);
  const options = { ...given, reason: await reasonToApply(given, io.prompts) };
  requireOneAddress(targets, options);
  interrupts.beforeExit(() => io.output.note(IN_DOUBT));
  const { applyTenant } = await import("../../app/apply/apply-tenant.ts");
  const { noticeToServers } = await import("../../app/database/owner-tasks.ts");
  const receipts = openReceipts(options, io.output, targets.length > 1);
  const others = new DirectorySecrets(workspace.directory);
  const { values: applied, failure } = await oneByOne(
    targets,
    { ...io, not: "applied", failed: (...of) => writeStepSummary(io.output, () => refusalMarkdown(...of)) },
    async ({ tenant, confirm, targets = options.target, accepted }): Promise<AppliedTenant> => {
      const flags = withAccepted(options, accepted);
      const choose = chooserOf(flags, io);
      let choices = choicesOf(flags);
      let seal: Seal | undefined;
      const onSealed = (of: string, sealed: Seal) => {
        seal = sealed;
        receipts.onSealed(of, sealed);
      };
      const { migrations, ...done } = await withConfig(
        workspace.directory,
        tenant,
        { ...options, others },
        { ...io, onSealed },
        (session) =>
          applyTenant(
            session,
            async (planned) => {
              confirm?.(planned);
              choices = await choose(planned);
              return choices;
            },
            { targets, repeatable: repeatableBy(flags) },
          ),
      );
      const title = `${tenant}: ${done.changed ? "applied" : "nothing to do"}`;
      writeStepSummary(io.output, () => planMarkdown(shownPlan(done.plan, choices), title));
      const notice = noticeToServers(migrations);
      if (notice) io.output.note(`${tenant}: ${notice}`);
      return appliedTenant(done, { seal, migrations });
    },
  ).finally(() => receipts.close());
  await io.output.print(
    applied,
    failure === undefined ? appliedView : { ...appliedView, empty: "Nothing was applied." },
  );
  return failure ?? EXIT.ok;
}

/** @throws Fault USAGE for a plan that does not exist, which a name could otherwise be taken for */
function withPlan({ plan }: ApplyOptions, args: readonly string[]): string[] {
  if (plan === undefined) return [...args];
  if (!existsSync(plan)) throw new Fault("USAGE", `${plan} does not exist: pmctl plan --out writes one`);
  return [plan, ...args];
}

/** A tenant's name takes precedence over a file of the same name. */
export async function targetsOf(
  workspace: Workspace,
  { options, args }: Pick<CommandContext<ApplyOptions>, "options" | "args">,
): Promise<Target[]> {
  const isPlan = (name: string) => !workspace.tenants.includes(name) && existsSync(name);
  if (!args.some(isPlan)) return tenantsMeant(workspace, { options, args }, "only").map((tenant) => ({ tenant }));
  if (options.selector) throw new Fault("USAGE", "A saved plan names its tenants: leave out --selector");
  const targets: Target[] = [];
  for (const name of args) {
    if (!isPlan(name)) {
      targets.push(...tenantsNamed(workspace, name).map((tenant) => ({ tenant })));
      continue;
    }
    const { readPlans, requireSame } = await import("./plan-file.ts");
    for (const saved of readPlans(name))
      targets.push({
        tenant: pickTenant(workspace, saved.tenant),
        confirm: (plan) => requireSame(saved, plan),
        targets: saved.targets,
        accepted: saved.accepted,
      });
  }
  return targets;
}
