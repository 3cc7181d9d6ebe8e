import type { Command } from "commander";
import { openWorkspace } from "../../config/workspace.ts";
import type { Host } from "../command.ts";
import { takeAnswers } from "../config/plan-choices.ts";
import { ASKS_TENANT } from "../errors.ts";
import { type FleetApplyOptions, runFleetApply } from "./fleet-apply.ts";
import { DRIFT_FIELDS, runFleetDrift } from "./fleet-drift.ts";
import { type FleetPlanOptions, PLAN_FIELDS, runFleetPlan } from "./fleet-plan.ts";
import { printRun, STATUS_FIELDS } from "./run-view.ts";

export function register(noun: Command, host: Host): void {
  host.add<FleetPlanOptions>(
    takeAnswers(noun.command("plan"), "acceptRule")
      .option("--detailed-exitcode", "end with 2 when there is something to apply")
      .description("show what an apply of the fleet would do, wave by wave; changes nothing"),
    {
      names: PLAN_FIELDS,
      ends: {
        ...ASKS_TENANT,
        2: "changes are planned (`--detailed-exitcode`)",
        3: "an unattended apply would refuse",
        10: "only some tenants were planned",
      },
    },
    runFleetPlan,
  );
  host.add<FleetApplyOptions>(
    takeAnswers(noun.command("apply"))
      .option("--restart", "start a new run instead of continuing an unfinished one")
      .description(
        "apply the fleet wave by wave, each wave behind the gate of the previous one; continues an unfinished run of the same files. Ends with 3 when nothing was written, 10 when something was written and not every wave passed",
      ),
    {
      names: STATUS_FIELDS,
      ends: { ...ASKS_TENANT, 3: "nothing was written", 10: "something was written, and not every wave passed" },
    },
    runFleetApply,
  );
  host.add(
    noun.command("status").description("show the state of this directory's last fleet apply; asks no tenant"),
    { names: STATUS_FIELDS, ends: {} },
    async ({ io }) => {
      const { currentRun } = await import("../../app/fleet/kept-run.ts");
      return printRun(await currentRun(openWorkspace().directory), io.output);
    },
  );
  host.add(
    noun
      .command("drift")
      .description(
        "list values of the fleet's tenants that were changed live since the last apply; ends with 3 when there are any, 9 when a tenant cannot be reached",
      ),
    { names: DRIFT_FIELDS, ends: { ...ASKS_TENANT, 3: "a value was changed live" } },
    runFleetDrift,
  );
}
