import { hasEndedOverrides } from "../../queries/configuration.ts";
import type { ServiceContext } from "../context.ts";
import { type Sweeper, SYSTEM_ACTOR, startSweeper } from "./sweeper.ts";

type SweeperContext = Pick<ServiceContext, "pool" | "sequencer">;

const SWEEP_MS = 2000;

/**
 * Puts the end of overrides on record; the entry that set one names who said until when. Trades are judged by the clock,
 * so nothing depends on it; any number of processes may sweep at once, and the engine records an end once.
 * @returns how many overrides this sweep found ended
 */
export async function sweepOverrides({ pool, sequencer }: SweeperContext): Promise<number> {
  if (!(await pool.read(hasEndedOverrides))) return 0;
  const { result } = await sequencer.submit({ command: { type: "endOverrides" }, actor: SYSTEM_ACTOR });
  return result?.ended ?? 0;
}

/** Sweeps every few seconds until stopped. */
export function startOverrideSweeper(context: SweeperContext, onError: (error: unknown) => void): Sweeper {
  return startSweeper(() => sweepOverrides(context), SWEEP_MS, onError);
}
