import type { Command } from "commander";
import { openWorkspace, pickTenant } from "../../config/workspace.ts";
import type { Seal } from "../../domain/audit/audit-link.ts";
import { Fault } from "../../domain/fault.ts";
import { type CommandContext, type Host, withConfig } from "../command.ts";
import { ASKS_TENANT } from "../errors.ts";
import { count, wholeNumber } from "../input/parsers.ts";
import { orDash } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import { openReceipts } from "../output/receipts.ts";
import { APPLIED_FIELDS, APPLY_ENDS, type AppliedTenant, appliedTenant, appliedView } from "./applied.ts";
import { IN_DOUBT } from "./apply.ts";
import { approvedView } from "./approve.ts";
import { type ChoiceOptions, chooserOf, reasonToApply, repeatableBy, takeAnswers } from "./plan-choices.ts";

type RollbackOptions = ChoiceOptions & { to: number; approve?: boolean; expectVersion?: number };

interface RolledBack extends AppliedTenant {
  to: number;
  /** Fields that the rollback did not restore. */
  left: string[];
}

const view: View<readonly RolledBack[], RolledBack> = {
  ...appliedView,
  rows: (applied) => applied,
  columns: [
    ...appliedView.columns.slice(0, -1),
    { title: "BACK TO", cell: ({ to }) => String(to), align: "right" },
    { title: "NOT RESTORED", cell: ({ left }) => orDash(left.join(", ")) },
  ],
};

export function register(noun: Command, host: Host): void {
  host.add<RollbackOptions>(
    takeAnswers(noun)
      .argument("[tenant]", "the tenant")
      .requiredOption("--to <seq>", "number of the apply to go back to, from pmctl history", count)
      .option("--approve", "only agree to it, where several actors must; another actor then rolls back")
      .option(
        "--expect-version <n>",
        "change nothing unless the configuration has this version, as GET /v1/config and the console show it",
        wholeNumber,
      )
      .description("apply the document of an earlier apply; names what it cannot restore, such as keys"),
    { names: `${APPLIED_FIELDS} to left sha256 approvals`, ends: { ...ASKS_TENANT, ...APPLY_ENDS }, repeatable: true },
    runRollback,
  );
}

/** Makes the plan of an apply, with the same guards and the earlier document. */
async function runRollback({ options: given, args, io, interrupts }: CommandContext<RollbackOptions>): Promise<void> {
  const options = { ...given, reason: await reasonToApply(given, io.prompts) };
  const { approveRollback, rollBack } = await import("../../app/apply/apply-tenant.ts");
  interrupts.beforeExit(() => io.output.note(IN_DOUBT));
  const workspace = openWorkspace();
  const tenant = pickTenant(workspace, args[0] ?? options.tenant);
  const { to } = options;
  const receipts = openReceipts(options, io.output);
  let seal: Seal | undefined;
  const onSealed = (of: string, sealed: Seal) => {
    seal = sealed;
    receipts.onSealed(of, sealed);
  };
  try {
    return await withConfig(workspace.directory, tenant, options, { ...io, onSealed }, async (session) => {
      const live = await session.open();
      if (!live) throw new Fault("NOT_FOUND", `${tenant} was never applied, so there is nothing to go back to`);
      const answers = chooserOf(options, io, to);
      const choose: typeof answers = (plan) => {
        if (![undefined, plan.liveVersion].includes(options.expectVersion))
          throw new Fault(
            "PRECONDITION_FAILED",
            "The configuration was changed since it was read; nothing was written",
          );
        return answers(plan);
      };
      if (options.approve) {
        const approved = await approveRollback(session, live, { to, choose });
        return io.output.print([{ tenant, ...approved }], approvedView);
      }
      const done = await rollBack(session, live, { to, choose, repeatable: repeatableBy(options) });
      await io.output.print([{ ...appliedTenant(done, { seal, migrations: [] }), to, left: done.left }], view);
      io.output.note(`${session.config.source.file} may still say otherwise: see pmctl plan, and pmctl pull --write`);
    });
  } finally {
    receipts.close();
  }
}
