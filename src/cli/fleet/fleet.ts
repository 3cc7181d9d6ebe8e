import type { Command } from "commander";
import pMap from "p-map";
import type { PlannedTenant } from "../../app/apply/plan-tenant.ts";
import { serverUrl } from "../../config/environment.ts";
import { labelsOf } from "../../config/selection/choose-tenants.ts";
import { FLEET_FILE, readFleetFile, tenantsByWave } from "../../config/selection/fleet-file.ts";
import type { Labels } from "../../config/selection/selector.ts";
import { openWorkspace } from "../../config/workspace.ts";
import { Fault } from "../../domain/fault.ts";
import { counted } from "../../domain/text.ts";
import { decide, loosening, written } from "../../plan/plan-decision.ts";
import { type CommandContext, type Host, withConfig } from "../command.ts";
import { writeStepSummary } from "../config/step-summary.ts";
import { EXIT, type ExitCode, failureOf } from "../errors.ts";
import { orDash } from "../output/cells.ts";
import { markdownTable } from "../output/markdown.ts";
import type { View } from "../output/output.ts";

const STATES = ["changed", "unchanged", "refused", "unreachable"] as const;
type State = (typeof STATES)[number];

interface FleetTenant {
  tenant: string;
  labels: Labels;
  /** Of the server that the tenant is reached through; null for one of this directory. */
  url: string | null;
  state: State;
  /** How many fields and settings an apply would change, and how many of them loosen. */
  changes: number;
  loosens: number;
  /** Why an apply would be refused, or no plan could be made. */
  problem: string | null;
}

interface FleetPlan {
  waves: { name: string; parallelism: number; tenants: FleetTenant[] }[];
  /** Tenants that no wave selects: they are never changed with the fleet. */
  unassigned: string[];
  totals: { tenants: number } & Record<State, number>;
}

type Row = FleetTenant & { wave: string };

/** What an apply of a tenant would come to. */
type Outlook = Omit<FleetTenant, "tenant" | "labels" | "url">;

const view = {
  kind: "list",
  rows: ({ waves }) => waves.flatMap(({ name, tenants }) => tenants.map((tenant) => ({ wave: name, ...tenant }))),
  columns: [
    { title: "WAVE", cell: ({ wave }) => wave },
    { title: "TENANT", cell: ({ tenant }) => tenant, whole: true },
    { title: "STATE", cell: ({ state }) => state },
    { title: "CHANGES", cell: ({ changes }) => String(changes), align: "right" },
    { title: "LOOSENS", cell: ({ loosens }) => String(loosens), align: "right" },
    { title: "SERVER", cell: ({ url }) => orDash(url), optional: true },
    { title: "PROBLEM", cell: ({ problem }) => orDash(problem) },
  ],
  empty: "No wave selects a tenant.",
} satisfies View<FleetPlan, Row>;

interface FleetPlanOptions {
  detailedExitcode?: boolean;
}

export function register(noun: Command, host: Host): void {
  host.add<FleetPlanOptions>(
    noun
      .command("plan")
      .option("--detailed-exitcode", "end with 2 when there is something to apply")
      .description("what an apply of the fleet would do, wave by wave; changes nothing"),
    { names: "wave tenant labels url state changes loosens problem" },
    runFleetPlan,
  );
}

/** Plans every tenant of every wave: one that cannot be planned does not hide the others. */
async function runFleetPlan({ options, io }: CommandContext<FleetPlanOptions>): Promise<ExitCode> {
  if (options.tenant !== undefined || options.url !== undefined)
    throw new Fault("USAGE", `${FLEET_FILE} names the tenants and their servers: leave --tenant and --url out`);
  const workspace = openWorkspace();
  const fleet = readFleetFile(workspace);
  const labels = labelsOf(workspace, workspace.tenants);
  const { waves, unassigned } = tenantsByWave(fleet.waves, labels);
  const { planTenant } = await import("../../app/apply/plan-tenant.ts");
  const count = labels.size - unassigned.length;
  if (count === 0) throw new Fault("NOT_FOUND", `No wave of ${FLEET_FILE} selects a tenant`);
  const failures: ExitCode[] = [];
  let done = 0;

  const planned: FleetPlan["waves"] = [];
  for (const { wave, tenants } of waves) {
    const { name, parallelism } = wave;
    planned.push({ name, parallelism, tenants: await pMap(tenants, outlookOf, { concurrency: parallelism }) });
  }

  async function outlookOf(tenant: string): Promise<FleetTenant> {
    const usual = serverUrl(tenant);
    const stated = usual === undefined ? fleet.tenants[tenant]?.url : undefined;
    const place = { tenant, labels: labels.get(tenant) ?? {}, url: usual ?? stated ?? null };
    try {
      const way = { ...options, url: stated };
      return { ...place, ...outlook(await withConfig(workspace.directory, tenant, way, io, planTenant)) };
    } catch (error) {
      const { exit, message = "" } = failureOf(error);
      failures.push(exit);
      const state = exit === EXIT.unreachable ? "unreachable" : "refused";
      return { ...place, state, changes: 0, loosens: 0, problem: message };
    } finally {
      done += 1;
      io.output.progress(`Planned ${done} of ${counted(count, "tenant")}`);
    }
  }

  const plan: FleetPlan = { waves: planned, unassigned, totals: totalsOf(planned.flatMap(({ tenants }) => tenants)) };
  await io.output.print(plan, view);
  const rest = [totalsLine(plan), ...(unassigned.length > 0 ? [`No wave selects ${unassigned.join(", ")}`] : [])];
  for (const line of rest) io.output.note(line);
  writeStepSummary(() =>
    ["### Plan of the fleet", "", markdownTable(view.rows(plan), view.columns), "", ...rest].join("\n"),
  );
  const [failure] = failures;
  if (failure !== undefined) return failures.length < count ? EXIT.partly : failure;
  return options.detailedExitcode && plan.totals.changed + plan.totals.refused > 0 ? EXIT.planned : EXIT.ok;
}

/** A plan that an apply refuses whatever it is told about loosening is no change. */
function outlook({ plan, desired, live }: PlannedTenant): Outlook {
  if (plan.empty) return { state: "unchanged", changes: 0, loosens: 0, problem: null };
  const changes = written(plan, { onDrift: "overwrite" }).length + plan.settings.length;
  const loosens = loosening(plan, { onDrift: "overwrite" }).length;
  try {
    decide(plan, desired, live, { onDrift: "fail", acceptLoosening: true });
    return { state: "changed", changes, loosens, problem: null };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { state: "refused", changes, loosens, problem: error.message };
  }
}

function totalsOf(tenants: readonly FleetTenant[]): FleetPlan["totals"] {
  const of = (wanted: State) => tenants.filter(({ state }) => state === wanted).length;
  return {
    tenants: tenants.length,
    changed: of("changed"),
    unchanged: of("unchanged"),
    refused: of("refused"),
    unreachable: of("unreachable"),
  };
}

function totalsLine({ totals }: FleetPlan): string {
  return `${counted(totals.tenants, "tenant")}: ${STATES.map((state) => `${totals[state]} ${state}`).join(", ")}.`;
}
