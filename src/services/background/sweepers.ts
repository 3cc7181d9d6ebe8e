import { SYSTEM_ACTOR } from "../../domain/audit/actors.ts";
import { hasEndedOverrides } from "../../queries/configuration.ts";
import { listUnrecordedClosings } from "../../queries/due-work.ts";
import type { ServiceContext } from "../context.ts";
import { type Repeated, repeat } from "./repeat.ts";

const SWEEP_MS = 2000;

/** Sweeps every few seconds until stopped. */
export function startSweeper(
  sweep: (signal: AbortSignal) => Promise<unknown>,
  onError: (error: unknown) => void,
): Repeated {
  return repeat(sweep, { pauseMs: SWEEP_MS, onError });
}

type SweeperContext = Pick<ServiceContext, "pool" | "sequencer">;

/** The most markets per sweep; the next sweep handles the rest. */
const MAX_CLOSINGS = 500;

/**
 * Writes `market.closed` for every market whose closing time has passed. Any number of processes may sweep at once: the
 * sequencer orders them and the engine records a closing once.
 * @returns how many closings this sweep recorded
 */
export async function sweepClosings({ pool, sequencer }: SweeperContext): Promise<number> {
  const marketIds = await pool.read((sql) => listUnrecordedClosings(sql, MAX_CLOSINGS));
  const answers = await Promise.all(
    marketIds.map((marketId) => sequencer.submit({ command: { type: "closeMarket", marketId }, actor: SYSTEM_ACTOR })),
  );
  return answers.filter(({ result }) => result?.recorded).length;
}

/**
 * Records the end of overrides. The entry that set an override already names its actor and end. Trades follow the
 * clock, so nothing depends on this entry. Any number of processes may sweep at once: the engine records each end once.
 * @returns the number of ended overrides that this sweep found
 */
export async function sweepOverrides({ pool, sequencer }: SweeperContext): Promise<number> {
  if (!(await pool.read(hasEndedOverrides))) return 0;
  const { result } = await sequencer.submit({ command: { type: "endOverrides" }, actor: SYSTEM_ACTOR });
  return result?.ended ?? 0;
}
