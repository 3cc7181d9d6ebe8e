import type { Command } from "commander";
import { openWorkspace, pickTenant } from "../../config/workspace.ts";
import { Fault } from "../../domain/fault.ts";
import { type CommandContext, type Host, withConfig } from "../command.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import type { View } from "../output.ts";
import { count } from "../parsers.ts";
import { acceptLooseningOption, asksAbout, type ChoiceOptions, chooserOf, onDriftOption } from "../plan-choices.ts";
import { noteRest, shownPlan } from "../plan-view.ts";
import { openReceipts } from "../receipts.ts";
import { IN_DOUBT } from "./apply.ts";

type RollbackOptions = ChoiceOptions & { to: number };

interface RolledBack {
  tenant: string;
  to: number;
  changed: boolean;
}

const view: View<RolledBack, RolledBack> = {
  kind: "record",
  fields: ({ tenant, to, changed }) => [
    ["tenant", tenant],
    ["to", String(to)],
    ["result", changed ? "applied" : "nothing to do"],
  ],
};

export function register(noun: Command, host: Host): void {
  noun
    .argument("[tenant]", "the tenant")
    .requiredOption("--to <seq>", "the apply to go back to, as pmctl history numbers it", count)
    .addOption(onDriftOption())
    .addOption(acceptLooseningOption())
    .description("apply the document of an earlier apply; keys stay as they are")
    .action(host.action<RollbackOptions>(runRollback));
}

/** The same plan and the same guards as an apply, with another document. */
export async function runRollback({
  options,
  args,
  io,
  interrupts,
}: CommandContext<RollbackOptions>): Promise<ExitCode> {
  const [{ applyOn }, { fromHistory }] = await Promise.all([import("../apply-tenant.ts"), import("../plan-tenant.ts")]);
  interrupts.parting(() => io.output.note(IN_DOUBT));
  const workspace = openWorkspace();
  const tenant = pickTenant(workspace, args[0] ?? options.tenant);
  const { to } = options;
  const receipts = openReceipts(options, io.output);
  const speaking = { ...io, onSealed: receipts.onSealed };
  try {
    return await withConfig(workspace.directory, tenant, options, speaking, async (session) => {
      const live = await session.open();
      if (!live) throw new Fault("NOT_FOUND", `${tenant} was never applied, so there is nothing to go back to`);
      const choose = chooserOf(options, io);
      const { plan, changed } = await applyOn(session, live, { choose, source: fromHistory(to), rollbackTo: to });
      if (!asksAbout(plan, options, io)) noteRest(shownPlan(plan), io.output);
      await io.output.print({ tenant, to, changed }, view);
      io.output.note(`${session.config.source.file} may still say otherwise: see pmctl plan, and pmctl pull --write`);
      return EXIT.ok;
    });
  } finally {
    receipts.close();
  }
}
