import type { Json } from "../../domain/audit/audit-link.ts";
import { Fault } from "../../domain/fault.ts";
import type { CommandContext } from "../command.ts";
import { driftIn, undecided } from "../config/drift.ts";
import { shownValue } from "../config/plan-view.ts";
import { writeStepSummary } from "../config/step-summary.ts";
import { EXIT, type ExitCode } from "../errors.ts";
import { orDash } from "../output/cells.ts";
import { markdownTable } from "../output/markdown.ts";
import type { View } from "../output/output.ts";
import { instantColumn } from "../output/table.ts";
import { planEach } from "./read-fleet.ts";

/** A value that was changed since the last apply. */
interface FleetDrift {
  tenant: string;
  field: string;
  applied: Json;
  live: Json;
  /** Who changed it, when and why; null where no audit entry says. */
  by: string | null;
  at: string | null;
  reason: string | null;
}

export const DRIFT_FIELDS = "tenant field applied live by at reason";

const view = {
  kind: "list",
  rows: (items) => items,
  columns: [
    { title: "TENANT", cell: ({ tenant }) => tenant, whole: true },
    { title: "FIELD", cell: ({ field }) => field, whole: true },
    { title: "APPLIED", cell: ({ applied }) => shownValue(applied) },
    { title: "LIVE", cell: ({ live }) => shownValue(live) },
    { title: "WHO", cell: ({ by }) => orDash(by) },
    instantColumn("WHEN", ({ at }) => at),
    { title: "REASON", cell: ({ reason }) => orDash(reason) },
  ],
  empty: "No managed value was changed live since the last applies.",
} satisfies View<readonly FleetDrift[], FleetDrift>;

/**
 * Ends with 9 when a tenant could not be reached, else with the code of the first tenant that failed.
 *
 * @throws Fault REFUSED when live values differ from the applied ones
 */
export async function runFleetDrift({ options, io }: CommandContext<object>): Promise<ExitCode> {
  const { output } = io;
  const { waves } = await planEach(options, io);
  const rows: FleetDrift[] = [];
  const failures: { tenant: string; exit: ExitCode }[] = [];
  for (const member of waves.flatMap(({ tenants }) => tenants)) {
    const { tenant, planned } = member;
    if (planned)
      for (const { field, base, live, by } of undecided(driftIn(planned.plan)))
        rows.push({
          tenant,
          field,
          applied: base,
          live,
          by: by?.actor ?? null,
          at: by?.ts ?? null,
          reason: by?.reason ?? null,
        });
    else {
      output.note(`${tenant}: was not looked at:`);
      failures.push({ tenant, exit: output.fail(member.error, tenant) });
    }
  }
  const unseen = failures.length === 0 ? "" : ` Not looked at: ${failures.map(({ tenant }) => tenant).join(", ")}.`;
  await output.print(rows, { ...view, empty: view.empty + unseen });
  writeStepSummary(output, () =>
    [
      "### Drift of the fleet",
      "",
      rows.length === 0 ? view.empty + unseen : markdownTable(rows, view.columns),
      ...failures.map(({ tenant }) => `\n${tenant}: was not looked at.`),
    ].join("\n"),
  );
  const exits = failures.map(({ exit }) => exit);
  if (exits.includes(EXIT.unreachable)) return EXIT.unreachable;
  const [failure] = exits;
  if (failure !== undefined || rows.length === 0) return failure ?? EXIT.ok;
  const fields = Map.groupBy(rows, ({ tenant }) => tenant);
  const drifts = [...fields].map(([tenant, of]) => `${tenant}: drift of ${of.map(({ field }) => field).join(", ")}`);
  throw new Fault("REFUSED", drifts.join("; "));
}
