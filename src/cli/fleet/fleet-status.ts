import { openWorkspace } from "../../config/workspace.ts";
import type { CommandContext } from "../command.ts";
import { printRun } from "./run-view.ts";

/** Shows the last run of this directory; asks no tenant. */
export async function runFleetStatus({ io }: CommandContext<object>): Promise<void> {
  const { currentRun } = await import("../../app/fleet/kept-run.ts");
  await printRun(await currentRun(openWorkspace().directory), io.output);
}
