import type { Command } from "commander";
import { openWorkspace, pickTenant } from "../../config/workspace.ts";
import { Fault } from "../../domain/fault.ts";
import type { PlanItem } from "../../plan/plan-types.ts";
import { type CommandContext, type Host, withConfig } from "../command.ts";
import { orDash, time } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import { ITEM_FIELDS, overrideLine, type ShownItem, shownPlan, shownValue } from "./plan-view.ts";

interface DriftOptions {
  write?: boolean;
}

const view: View<readonly ShownItem[], ShownItem> = {
  kind: "list",
  rows: (items) => items,
  columns: [
    { title: "FIELD", cell: ({ field }) => field, whole: true },
    { title: "WHAT", cell: ({ kind }) => kind },
    { title: "FILE", cell: ({ desired }) => shownValue(desired) },
    { title: "LIVE", cell: ({ live }) => shownValue(live) },
    { title: "WHO", cell: ({ by }) => orDash(by?.actor) },
    { title: "WHEN", cell: ({ by }) => orDash(by && time(by.ts, { seconds: true })) },
    { title: "ENTRY", cell: ({ by }) => orDash(by?.seq.toString()), align: "right" },
    { title: "REASON", cell: ({ by }) => orDash(by?.reason) },
  ],
  empty: "No managed value was changed live since the last apply.",
};

export function register(noun: Command, host: Host): void {
  host.add<DriftOptions>(
    noun
      .argument("[tenant]", "the tenant")
      .option("--write", "put the live values into the files; comments stay")
      .description("values that were changed live since the last apply, and by whom; ends with 3 when there are any"),
    { names: ITEM_FIELDS },
    runDrift,
  );
}

/** @throws Fault REFUSED when live values differ from the files and were not written back */
async function runDrift({ options, args, io }: CommandContext<DriftOptions>): Promise<void> {
  const { planTenant } = await import("../../app/apply/plan-tenant.ts");
  const workspace = openWorkspace();
  const tenant = pickTenant(workspace, args[0] ?? options.tenant);
  const { plan, files } = await withConfig(workspace.directory, tenant, options, io, async (session) => ({
    plan: (await planTenant(session)).plan,
    files: session,
  }));
  const drifted = plan.items.filter(({ kind, problem }) => kind !== "change" && problem === undefined);
  await io.output.print(shownPlan({ ...plan, items: drifted }).items, view);
  for (const each of plan.overrides) io.output.note(overrideLine(each));
  const left = options.write ? await writeBack(drifted) : drifted;
  if (left.length === 0) return;
  const fields = left.map(({ field }) => field).join(", ");
  if (!options.write) throw new Fault("REFUSED", `${tenant} has drifted: ${fields}`);
  throw new Fault(
    "REFUSED",
    `Not written to the files of ${tenant}: ${fields}. Decide yourself on keys and on values that were changed in the file too: edit the file, or see apply --on-drift`,
  );

  /** Returns what could not be written: values of keys, and fields that were changed in the file too. */
  async function writeBack(items: readonly PlanItem[]): Promise<PlanItem[]> {
    const { editFor, writeEdits } = await import("./write-back.ts");
    const edits = items.map((item) => ({ item, edit: item.kind === "conflict" ? undefined : editFor(item, files) }));
    writeEdits(
      edits.flatMap(({ edit }) => edit ?? []),
      io,
    );
    return edits.filter(({ edit }) => edit === undefined).map(({ item }) => item);
  }
}
