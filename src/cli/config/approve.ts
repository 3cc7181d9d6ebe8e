import { existsSync } from "node:fs";
import type { Command } from "commander";
import { openWorkspace } from "../../config/workspace.ts";
import type { WireResult } from "../../contract/operations.ts";
import { Fault } from "../../domain/fault.ts";
import { type Choices, loosening, refusalsOf } from "../../plan/plan-decision.ts";
import type { Plan } from "../../plan/plan-types.ts";
import { type CommandContext, type Host, type Io, withConfig } from "../command.ts";
import { ASKS_TENANT, NOT_CONFIRMED } from "../errors.ts";
import { declined } from "../input/prompts.ts";
import type { View } from "../output/output.ts";
import { targetsOf } from "./apply.ts";
import { asksAbout, type ChoiceOptions, choicesOf, withAccepted } from "./plan-choices.ts";
import { notePlan, noteRest, planTable, shownPlan } from "./plan-view.ts";

export type ApprovedPlan = { tenant: string } & WireResult<"approvePlan">;

export const approvedView: View<readonly ApprovedPlan[], ApprovedPlan> = {
  kind: "list",
  rows: (plans) => plans,
  columns: [
    { title: "TENANT", cell: ({ tenant }) => tenant, whole: true },
    { title: "APPROVED BY", cell: ({ approvals }) => approvals.map(({ by }) => by).join(", ") },
    { title: "SHA256", cell: ({ sha256 }) => sha256.slice(0, 12), whole: true },
  ],
  empty: "Nothing was approved.",
};

export function register(noun: Command, host: Host): void {
  host.add<ChoiceOptions>(
    noun
      .argument("<file>", "the file of `pmctl plan --out`")
      .description(
        "agree to a saved plan, with the same files; `pmctl apply --plan FILE` then carries it out, and counts as one of the actors",
      ),
    { names: "tenant sha256 approvals", ends: { ...ASKS_TENANT, 3: NOT_CONFIRMED } },
    runApprove,
  );
}

/** Approves what an apply of the saved plan would send, so that exactly this counts as approved. */
async function runApprove(context: CommandContext<ChoiceOptions>): Promise<void> {
  const { options, args, io } = context;
  const [file = ""] = args;
  if (!existsSync(file)) throw new Fault("USAGE", `${file} does not exist: pmctl plan --out writes one`);
  const workspace = openWorkspace();
  const { approveTenant } = await import("../../app/apply/apply-tenant.ts");
  const approved: ApprovedPlan[] = [];
  for (const { tenant, confirm, targets, accepted } of await targetsOf(workspace, { options, args: [file] })) {
    const choices = choicesOf(withAccepted(options, accepted));
    const answer = await withConfig(workspace.directory, tenant, options, io, (session) =>
      approveTenant(
        session,
        async (planned) => {
          confirm?.(planned);
          await showToApprove(planned, choices, context);
          return choices;
        },
        targets,
      ),
    );
    approved.push({ tenant, ...answer });
  }
  await io.output.print(approved, approvedView);
}

/**
 * Shows all that a plan would change to the person who agrees to it, and asks them on a terminal.
 * @throws Fault REFUSED when the answer is no
 */
async function showToApprove(
  plan: Plan,
  choices: Choices,
  { options, io: { output, prompts } }: { options: ChoiceOptions; io: Io },
): Promise<void> {
  const shown = shownPlan(plan, choices);
  if (refusalsOf(plan, choices).length > 0 || !asksAbout(plan, options, { prompts })) return notePlan(shown, output);
  output.explain([shown], planTable([shown]));
  noteRest(shown, output);
  const loosens = loosening(plan, choices).length > 0;
  if (!(await prompts.confirm(loosens ? "This LOOSENS limits. Approve it?" : "Approve it?"))) throw declined();
}
