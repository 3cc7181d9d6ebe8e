import { listUnrecordedClosings } from "../../queries/closings.ts";
import type { ServiceContext } from "../context.ts";
import { type Sweeper, SYSTEM_ACTOR, startSweeper } from "./sweeper.ts";

type SweeperContext = Pick<ServiceContext, "pool" | "sequencer">;

/** Markets per sweep; what is left is taken by the next one. */
const MAX_CLOSINGS = 500;
const SWEEP_MS = 2000;

/**
 * Writes `market.closed` for every market whose closing time has passed. Any number of processes may sweep at once: the
 * sequencer orders them and the engine records a closing once.
 * @returns how many closings this sweep put on record
 */
export async function sweepClosings({ pool, sequencer }: SweeperContext): Promise<number> {
  const marketIds = await pool.read((sql) => listUnrecordedClosings(sql, MAX_CLOSINGS));
  const answers = await Promise.all(
    marketIds.map((marketId) => sequencer.submit({ command: { type: "closeMarket", marketId }, actor: SYSTEM_ACTOR })),
  );
  return answers.filter(({ result }) => result?.recorded).length;
}

/** Sweeps every few seconds until stopped. */
export function startClosingSweeper(context: SweeperContext, onError: (error: unknown) => void): Sweeper {
  return startSweeper(() => sweepClosings(context), SWEEP_MS, onError);
}
