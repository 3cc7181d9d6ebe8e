import type { Command } from "commander";
import type { ConfigSession } from "../../app/tenant/config-session.ts";
import { openWorkspace } from "../../config/workspace.ts";
import { Fault } from "../../domain/fault.ts";
import { isNaming } from "../../plan/plan-compare.ts";
import type { Plan, PlanItem } from "../../plan/plan-types.ts";
import { type CommandContext, type Host, type Io, withConfig } from "../command.ts";
import { ASKS_TENANT, EXIT, type ExitCode } from "../errors.ts";
import { type SelectorOptions, selectorOption } from "../input/selector-option.ts";
import { tenantsMeant } from "../input/tenants.ts";
import type { Annotation } from "../output/annotations.ts";
import { orDash } from "../output/cells.ts";
import type { View } from "../output/output.ts";
import { instantColumn } from "../output/table.ts";
import { oneByOne } from "./each-tenant.ts";
import {
  annotationsAt,
  annotationsOf,
  ITEM_FIELDS,
  overrideLine,
  type ShownItem,
  shownPlan,
  shownValue,
} from "./plan-view.ts";

interface DriftOptions extends SelectorOptions {
  write?: boolean;
}

type Row = ShownItem & { tenant: string };

const view: View<readonly Row[], Row> = {
  kind: "list",
  rows: (items) => items,
  columns: [
    { title: "TENANT", cell: ({ tenant }) => tenant, optional: true, identifies: true },
    { title: "FIELD", cell: ({ field }) => field, whole: true },
    { title: "WHAT", cell: ({ kind }) => kind },
    { title: "FILE", cell: ({ desired }) => shownValue(desired) },
    { title: "LIVE", cell: ({ live }) => shownValue(live) },
    { title: "WHO", cell: ({ by }) => orDash(by?.actor) },
    instantColumn("WHEN", ({ by }) => by?.ts),
    { title: "ENTRY", cell: ({ by }) => orDash(by?.seq.toString()), align: "right" },
    { title: "REASON", cell: ({ by }) => orDash(by?.reason) },
  ],
  empty: "No managed value was changed live since the last apply.",
};

export function register(noun: Command, host: Host): void {
  host.add<DriftOptions>(
    noun
      .argument("[tenants...]", "tenants to look at (default: the only one); * and ? match")
      .addOption(selectorOption())
      .option(
        "--write",
        "write the values that were changed live into the files, and leave edits that no apply made yet, which `pull --write` replaces; comments stay",
      )
      .description(
        "values that were changed live since the last apply, and by whom; ends with 3 unless an apply was told to keep them all",
      ),
    {
      names: `tenant ${ITEM_FIELDS}`,
      ends: {
        ...ASKS_TENANT,
        3: "a value was changed live and no apply was told to keep it, or `--write` could not write one back",
        10: "some tenants were looked at only",
      },
      annotates: true,
    },
    runDrift,
  );
}

/** @throws Fault REFUSED when live values differ from the files, no apply was told to keep them, and they were not written back */
async function runDrift(context: CommandContext<DriftOptions>): Promise<ExitCode> {
  const { options, io } = context;
  const { planTenant } = await import("../../app/apply/plan-tenant.ts");
  const workspace = openWorkspace();
  const targets = tenantsMeant(workspace, context, "only").map((tenant) => ({ tenant }));
  const unread: Annotation[] = [];
  const told = { not: "looked at", failed: (_: string, error: unknown) => unread.push(...annotationsOf(error)) };
  const { values, failure } = await oneByOne(targets, { ...io, ...told }, async ({ tenant }) => {
    const { plan, files } = await withConfig(workspace.directory, tenant, options, io, async (session) => ({
      plan: (await planTenant(session)).plan,
      files: session,
    }));
    return { tenant, plan, files, drifted: driftIn(plan) };
  });
  const rows = values.flatMap(({ tenant, plan, drifted }) =>
    shownPlan({ ...plan, items: drifted }).items.map((item) => ({ tenant, ...item })),
  );
  const annotations = values.flatMap(({ drifted, files }) =>
    annotationsAt(
      drifted.map(({ field, live }) => ({
        field,
        message: `was changed live to ${shownValue(live)}`,
        code: "CONFLICT",
      })),
      files,
    ),
  );
  await io.output.print(rows, { ...view, annotations: () => [...unread, ...annotations] });
  for (const { plan } of values) for (const each of plan.overrides) io.output.note(overrideLine(each));
  const left: string[] = [];
  for (const { tenant, drifted, files } of values) {
    const items = undecided(options.write ? await writeBack(drifted, files, io) : drifted);
    if (items.length > 0)
      left.push(`${tenant}: ${options.write ? "" : "drift of "}${items.map(({ field }) => field).join(", ")}`);
  }
  if (failure !== undefined || left.length === 0) return failure ?? EXIT.ok;
  const fields = left.join("; ");
  if (!options.write) throw new Fault("REFUSED", fields);
  throw new Fault(
    "REFUSED",
    `Not written to the files of ${fields}. Decide yourself on keys and on values that were changed in the file too: edit the file, or see apply --on-drift`,
  );
}

/** Values that were changed live, including those that an earlier apply was told to keep. */
export function driftIn({ items }: Plan): PlanItem[] {
  return items.filter((item) => item.kind !== "change" && item.problem === undefined && !isNaming(item));
}

/** Without the values that an apply was told to keep: it has decided about them. */
export function undecided(items: readonly PlanItem[]): PlanItem[] {
  return items.filter(({ kind }) => kind !== "adopted");
}

/** Returns what could not be written: values of keys, and fields that were changed in the file too. */
async function writeBack(
  items: readonly PlanItem[],
  files: ConfigSession,
  io: Pick<Io, "output">,
): Promise<PlanItem[]> {
  const { editFor, writeEdits } = await import("./write-back.ts");
  const edits = items.map((item) => ({ item, edit: item.kind === "conflict" ? undefined : editFor(item, files) }));
  writeEdits(
    edits.flatMap(({ edit }) => edit ?? []),
    io,
  );
  return edits.filter(({ edit }) => edit === undefined).map(({ item }) => item);
}
