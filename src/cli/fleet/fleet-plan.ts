import type { PlannedTenant } from "../../app/apply/plan-tenant.ts";
import { NONE_LEFT } from "../../app/fleet/fleet-run.ts";
import type { Labels } from "../../config/selection/selector.ts";
import { Fault } from "../../domain/fault.ts";
import { counted } from "../../domain/text.ts";
import { type Choices, decide, loosening, written } from "../../plan/plan-decision.ts";
import type { CommandContext } from "../command.ts";
import type { ChoiceOptions } from "../config/plan-choices.ts";
import { writeStepSummary } from "../config/step-summary.ts";
import { EXIT, type ExitCode, failureOf } from "../errors.ts";
import { orDash } from "../output/cells.ts";
import { markdownTable } from "../output/markdown.ts";
import type { View } from "../output/output.ts";
import { type PlannedMember, planEach } from "./read-fleet.ts";

const STATES = ["changed", "unchanged", "refused", "unreachable"] as const;
type State = (typeof STATES)[number];

interface FleetTenant {
  tenant: string;
  labels: Labels;
  /** Address of the tenant's server; null for a server of this directory. */
  url: string | null;
  state: State;
  /** The number of fields and settings that an apply would change, and of those that it would loosen. */
  changes: number;
  loosens: number;
  /** Why an apply would be refused, or why there is no plan. */
  problem: string | null;
}

interface FleetPlan {
  waves: { name: string; parallelism: number; tenants: FleetTenant[] }[];
  /** Tenants that no wave selects: a fleet apply never changes them. */
  unassigned: string[];
  totals: { tenants: number } & Record<State, number>;
}

type Row = FleetTenant & { wave: string };

/** The expected result of applying a tenant. */
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
    { title: "PROBLEM", cell: ({ problem }) => orDash(firstLine(problem)), wraps: true },
  ],
  empty: "No wave selects a tenant.",
} satisfies View<FleetPlan, Row>;

/** Leaves out the lines of the file around a problem, and the fields after the first. */
function firstLine(problem: string | null): string | null {
  return problem?.split("\n", 1)[0] ?? null;
}

export interface FleetPlanOptions extends Pick<ChoiceOptions, "acceptRule"> {
  detailedExitcode?: boolean;
}

export const PLAN_FIELDS = "wave tenant labels url state changes loosens problem";

export async function runFleetPlan({ options, io }: CommandContext<FleetPlanOptions>): Promise<ExitCode> {
  const { waves, unassigned } = await planEach(options, io);
  const choices: Choices = { onDrift: "fail", acceptLoosening: true, acceptedRules: options.acceptRule };
  const shown = waves.map(({ tenants, ...wave }) => ({
    ...wave,
    tenants: tenants.map((member) => fleetTenant(member, choices)),
  }));
  const plan: FleetPlan = { waves: shown, unassigned, totals: totalsOf(shown.flatMap(({ tenants }) => tenants)) };
  await io.output.print(plan, view);
  const idle = shown.filter(({ tenants }) => tenants.length === 0);
  const rest = [
    totalsLine(plan),
    ...(unassigned.length > 0 ? [`No wave selects ${unassigned.join(", ")}`] : []),
    ...idle.map(({ name }) => `${name}: ${NONE_LEFT}`),
  ];
  for (const line of rest) io.output.note(line);
  writeStepSummary(io.output, () =>
    ["### Plan of the fleet", "", markdownTable(view.rows(plan), view.columns), "", ...rest].join("\n"),
  );
  const members = waves.flatMap(({ tenants }) => tenants);
  const [failure, ...others] = members.flatMap((member) => (member.planned ? [] : [failureOf(member.error).exit]));
  if (failure !== undefined) return 1 + others.length < members.length ? EXIT.partly : failure;
  return options.detailedExitcode && plan.totals.changed + plan.totals.refused > 0 ? EXIT.planned : EXIT.ok;
}

function fleetTenant(member: PlannedMember, choices: Choices): FleetTenant {
  const { tenant, labels, url } = member;
  if (member.planned) return { tenant, labels, url, ...outlook(member.planned, choices) };
  const { exit, message = "" } = failureOf(member.error);
  const state = exit === EXIT.unreachable ? "unreachable" : "refused";
  return { tenant, labels, url, state, changes: 0, loosens: 0, problem: message };
}

/** A plan that even --accept-loosening cannot apply counts as refused; so does an unaccepted rule. */
function outlook({ plan, desired, live }: PlannedTenant, choices: Choices): Outlook {
  const changes = written(plan, { onDrift: "overwrite" }).length + plan.settings.length;
  const loosens = loosening(plan, { onDrift: "overwrite" }).length;
  try {
    decide(plan, desired, live, choices);
    return { state: plan.empty ? "unchanged" : "changed", changes, loosens, problem: null };
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
