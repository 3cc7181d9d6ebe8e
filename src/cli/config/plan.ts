import type { Command } from "commander";
import type { SessionOptions } from "../../app/tenant/session.ts";
import { DirectorySecrets } from "../../config/secrets/secret-values.ts";
import { openWorkspace, type Workspace } from "../../config/workspace.ts";
import { Fault } from "../../domain/fault.ts";
import { refusalsOf } from "../../plan/plan-decision.ts";
import type { Plan } from "../../plan/plan-types.ts";
import { type CommandContext, type Host, type Io, withConfig } from "../command.ts";
import { ASKS_TENANT, EXIT, type ExitCode } from "../errors.ts";
import { timeAgo, writableFile } from "../input/parsers.ts";
import type { SelectorOptions } from "../input/selector-option.ts";
import { tenantsMeant } from "../input/tenants.ts";
import type { Annotation } from "../output/annotations.ts";
import { APPLY_ENDS } from "./applied.ts";
import { oneByOne } from "./each-tenant.ts";
import {
  type Accepted,
  acceptedBy,
  type ChoiceOptions,
  choicesOf,
  takePlanOptions,
  withAccepted,
} from "./plan-choices.ts";
import {
  annotationsAt,
  annotationsOf,
  ITEM_FIELDS,
  type JudgedPlan,
  noteRest,
  planTable,
  refusalLines,
  refusalsSaid,
  shownPlan,
} from "./plan-view.ts";
import { planMarkdown, refusalMarkdown, writeStepSummary } from "./step-summary.ts";

interface PlanOptions extends SelectorOptions, Omit<ChoiceOptions, "yes"> {
  out?: string;
  detailedExitcode?: boolean;
  replay?: string;
}

export function register(noun: Command, host: Host): void {
  host.add<PlanOptions>(
    takePlanOptions(noun)
      .argument("[tenants...]", "tenants to plan (default: the only one); * and ? match")
      .option(
        "--replay <when>",
        "decide the recorded commands since then again under the proposed policy: 30d for the last 30 days, or a time",
        timeAgo,
      )
      .option("--out <file>", "save the plan, for pmctl apply FILE", writableFile)
      .option("--detailed-exitcode", "end with 2 when there is something to apply")
      .description("show what an apply would do; changes nothing; ends with 3 when an unattended apply would refuse"),
    {
      names: `tenant ${ITEM_FIELDS}`,
      ends: {
        ...ASKS_TENANT,
        2: "changes are planned (`--detailed-exitcode`)",
        3: "an unattended apply would refuse",
        7: APPLY_ENDS[7],
        8: APPLY_ENDS[8],
        10: "only some tenants were planned",
      },
      annotates: true,
    },
    runPlan,
  );
}

async function runPlan(context: CommandContext<PlanOptions>): Promise<ExitCode> {
  const workspace = openWorkspace();
  const targets = tenantsMeant(workspace, context, "only").map((tenant) => ({ tenant }));
  return planTargets(workspace, targets, context.options, context.io);
}

/** A tenant to plan or apply; `confirm` throws when the plan differs from the saved one. */
export interface Target {
  tenant: string;
  confirm?: (plan: Plan) => void;
  /** The fields of `--target`. */
  targets?: readonly string[] | undefined;
  /** What the maker of the saved plan accepted. */
  accepted?: Accepted | undefined;
}

/** @throws Fault USAGE for several tenants with one address, because each tenant has a server of its own */
export function requireOneAddress(targets: readonly Target[], { url }: Pick<SessionOptions, "url">): void {
  if (url === undefined || new Set(targets.map(({ tenant }) => tenant)).size < 2) return;
  throw new Fault("USAGE", "--url is the address of one tenant's server: name one tenant, or leave out --url");
}

/**
 * Plans each tenant on its own, so a failure does not hide the other tenants. A saved plan contains every tenant that
 * was asked for, or is not written.
 * @throws Fault REFUSED when an unattended apply with the same options would refuse, or FROZEN where only a freeze is
 *   in the way; after everything is printed and saved
 */
export async function planTargets(
  { directory }: Workspace,
  targets: readonly Target[],
  options: PlanOptions & SessionOptions,
  io: Pick<Io, "output">,
): Promise<ExitCode> {
  const { out, detailedExitcode, replay } = options;
  requireOneAddress(targets, options);
  const [{ planTenant }, { refusedForOthers }] = await Promise.all([
    import("../../app/apply/plan-tenant.ts"),
    import("../../app/apply/plan-refusals.ts"),
  ]);
  const others = new DirectorySecrets(directory);
  const annotations: Annotation[] = [];
  const { values: planned, failure } = await oneByOne(
    targets,
    {
      ...io,
      not: "planned",
      failed: (tenant, error) => {
        annotations.push(...annotationsOf(error));
        writeStepSummary(io.output, () => refusalMarkdown(tenant, error, "planned"));
      },
    },
    async ({ tenant, confirm, targets = options.target, accepted }) => {
      const choices = choicesOf(withAccepted(options, accepted));
      const { plan, files, byOthers } = await withConfig(
        directory,
        tenant,
        { ...options, others },
        io,
        async (session) => {
          const planned = await planTenant(session, targets);
          confirm?.(planned.plan);
          const byOthers = await refusedForOthers(session, planned, choices);
          if (replay === undefined) return { plan: planned.plan, files: session, byOthers };
          const { replayPlan } = await import("../../app/replay/replay-window.ts");
          const again = await replayPlan(planned, planned.tenant, Date.parse(replay));
          return { plan: { ...planned.plan, replay: again }, files: session, byOthers };
        },
      );
      const refusals = [...refusalsOf(plan, choices), ...byOthers];
      const judged = { ...shownPlan(plan, choices), refusals };
      annotations.push(...annotationsAt(refusalsSaid(judged), files));
      return { shown: judged, bound: { ...shownPlan(plan), refusals, accepted: acceptedBy(options) } };
    },
  );
  const plans = planned.map(({ shown }) => shown);
  if (out !== undefined && failure === undefined) {
    const { savePlans } = await import("./plan-file.ts");
    savePlans(
      out,
      planned.map(({ bound }) => bound),
    );
    io.output.note(`Saved; ${nextOf(plans, out)}`);
  }
  const isEmptyHanded = failure !== undefined && plans.length === 0;
  const view = { ...planTable(plans), annotations: () => annotations };
  await io.output.print(plans, isEmptyHanded ? { ...view, empty: "Nothing was planned." } : view);
  for (const plan of plans) {
    noteRest(plan, io.output);
    writeStepSummary(io.output, () => planMarkdown(plan));
  }
  if (failure !== undefined) return failure;
  const refused = plans.flatMap((plan) => refusalLines(plan));
  const reasons = new Set(plans.flatMap(({ refusals }) => refusals.map(({ reason }) => reason)));
  const code = reasons.size === 1 && reasons.has("freeze") ? "FROZEN" : "REFUSED";
  if (refused.length > 0) throw new Fault(code, ["An apply would refuse this:", ...refused].join("\n"));
  return detailedExitcode && plans.some(({ empty }) => !empty) ? EXIT.planned : EXIT.ok;
}

/** What to do with a saved plan. */
function nextOf(plans: readonly JudgedPlan[], file: string): string {
  const reasons = plans.flatMap(({ refusals }) => refusals.map(({ reason }) => reason));
  if (reasons.length === 0) return `carry it out with pmctl apply ${file}`;
  if (reasons.every((reason) => reason === "actors"))
    return `other actors agree with pmctl approve ${file}, and then pmctl apply ${file} carries it out`;
  return `pmctl apply ${file} would be refused too: accept what it asks about when planning`;
}
