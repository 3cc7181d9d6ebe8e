import type { Command } from "commander";
import type { Host } from "../command.ts";
import { DRIFT_FIELDS, runFleetDrift } from "./fleet-drift.ts";
import { type FleetPlanOptions, PLAN_FIELDS, runFleetPlan } from "./fleet-plan.ts";

export function register(noun: Command, host: Host): void {
  host.add<FleetPlanOptions>(
    noun
      .command("plan")
      .option("--detailed-exitcode", "end with 2 when there is something to apply")
      .description("what an apply of the fleet would do, wave by wave; changes nothing"),
    { names: PLAN_FIELDS },
    runFleetPlan,
  );
  host.add(
    noun
      .command("drift")
      .description(
        "values of the fleet's tenants that were changed live since the last apply; ends with 3 when there are any, 9 when a tenant cannot be reached",
      ),
    { names: DRIFT_FIELDS },
    runFleetDrift,
  );
}
