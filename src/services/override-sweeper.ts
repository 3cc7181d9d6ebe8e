import { hasEndedOverrides } from "../store/queries/configuration.ts";
import type { ServiceContext } from "./context.ts";
import { type Sweeper, startSweeper } from "./sweeper.ts";

type SweeperContext = Pick<ServiceContext, "read" | "sequencer">;

const SWEEP_MS = 2000;

/** Nobody ends an override: whoever set it said until when, and that entry names them. Closings are recorded alike. */
const ACTOR = "oracle";

/**
 * Puts the end of overrides on record. Trades are judged by the clock, so nothing depends on it; any number of processes
 * may sweep at once, and the engine records an end once.
 * @returns how many overrides this sweep found ended
 */
export async function sweepOverrides({ read, sequencer }: SweeperContext): Promise<number> {
  if (!(await hasEndedOverrides(read))) return 0;
  const { result } = await sequencer.submit({ command: { type: "endOverrides" }, actor: ACTOR });
  return result?.ended ?? 0;
}

/** Sweeps every few seconds until stopped. */
export function startOverrideSweeper(context: SweeperContext, onError: (error: unknown) => void): Sweeper {
  return startSweeper(() => sweepOverrides(context), SWEEP_MS, onError);
}
