import type { FleetRun, GateResult, RunTenant, RunWave } from "../../app/fleet/fleet-run.ts";
import { counted } from "../../domain/text.ts";
import { writeStepSummary } from "../config/step-summary.ts";
import { orDash } from "../output/cells.ts";
import { markdownTable } from "../output/markdown.ts";
import type { Output, View } from "../output/output.ts";

interface FleetStatus {
  /** Null before the first fleet apply. */
  run: string | null;
  state: "none" | FleetRun["state"];
  startedAt: string | null;
  endedAt: string | null;
  waves: (Pick<RunWave, "name" | "state"> & { gate: GateResult[]; tenants: ShownTenant[] })[];
}

type ShownTenant = Pick<RunTenant, "tenant" | "state" | "seq" | "problem">;
type Row = ShownTenant & { wave: string };

export const STATUS_FIELDS = "wave tenant state seq problem";

const view = {
  kind: "list",
  rows: ({ waves }) => waves.flatMap(({ name, tenants }) => tenants.map((tenant) => ({ wave: name, ...tenant }))),
  columns: [
    { title: "WAVE", cell: ({ wave }) => wave },
    { title: "TENANT", cell: ({ tenant }) => tenant, whole: true },
    { title: "STATE", cell: ({ state }) => (state === "rolledBack" ? "rolled back" : state) },
    { title: "ENTRY", cell: ({ seq }) => orDash(seq?.toString()), align: "right" },
    { title: "PROBLEM", cell: ({ problem }) => orDash(problem), wraps: true },
  ],
  empty: "The fleet was not applied yet.",
} satisfies View<FleetStatus, Row>;

/** A run's state for the operator. The waves of an interrupted run still say running. */
const STANDS: Record<FleetRun["state"], string> = {
  running: "is running",
  interrupted: "was interrupted; `pmctl fleet apply` continues it",
  failed: "failed; `pmctl fleet apply` continues it once the cause is removed",
  done: "is done",
};

/** Prints a run's tenants. People also get its state, and each wave with the failed checks of its gate. */
export async function printRun(run: FleetRun | undefined, output: Output): Promise<void> {
  const status = statusOf(run);
  await output.print(status, view);
  if (!run) return;
  output.note(`The run ${run.run} ${STANDS[run.state]}`);
  for (const line of waveLines(status)) output.note(line);
}

/** Writes the summary for build servers. */
export function summariseRun(run: FleetRun, output: Output): void {
  const status = statusOf(run);
  writeStepSummary(output, () =>
    [
      `### Fleet: ${status.state}`,
      "",
      markdownTable(view.rows(status), view.columns),
      "",
      ...waveLines(status).map((line) => `- ${line}`),
    ].join("\n"),
  );
}

/** Leaves out what only a later `fleet apply` needs. */
function statusOf(run: FleetRun | undefined): FleetStatus {
  if (!run) return { run: null, state: "none", startedAt: null, endedAt: null, waves: [] };
  const { run: id, state, startedAt, endedAt, waves } = run;
  const shown = waves.map(({ name, state: ofWave, gate, tenants }) => ({
    name,
    state: ofWave,
    gate,
    tenants: tenants.map(({ tenant, state: ofTenant, seq, problem }) => ({ tenant, state: ofTenant, seq, problem })),
  }));
  return { run: id, state, startedAt, endedAt, waves: shown };
}

function waveLines({ waves }: FleetStatus): string[] {
  return waves.flatMap(({ name, state, gate, tenants }) => {
    const failed = gate.filter(({ ok }) => !ok);
    const checks =
      gate.length === 0 ? "" : `, ${gate.length - failed.length} of ${counted(gate.length, "check")} passed`;
    return [
      `${name}: ${state === "rolledBack" ? "rolled back" : state}, ${counted(tenants.length, "tenant")}${checks}`,
      ...failed.map(({ check, tenant, found }) => `${name}: ${check} of ${tenant} failed: ${found}`),
    ];
  });
}
