import { listUnrecordedClosings } from "../queries/closings.ts";
import { hasEndedOverrides } from "../queries/configuration.ts";
import type { ServiceContext } from "./context.ts";

/** The actor of changes without a request: closings, ends of overrides, holds and resolutions. */
export const SYSTEM_ACTOR = "oracle";

/** A task that repeats until it is stopped. */
export interface Sweeper {
  /** Waits for a sweep that is under way. */
  stop(): Promise<void>;
}

/**
 * Sweeps at an interval, never two at once.
 * @param onError called for the first of consecutive failures only: while the database is away every sweep fails alike
 */
export function startSweeper(
  sweep: () => Promise<unknown>,
  intervalMs: number,
  onError: (error: unknown) => void,
): Sweeper {
  let failing = false;
  let sweeping: Promise<void> | undefined;
  const run = async () => {
    try {
      await sweep();
      failing = false;
    } catch (error) {
      if (!failing) onError(error);
      failing = true;
    } finally {
      sweeping = undefined;
    }
  };
  const timer = setInterval(() => {
    sweeping ??= run();
  }, intervalMs);
  return {
    stop: async () => {
      clearInterval(timer);
      await sweeping;
    },
  };
}

type SweeperContext = Pick<ServiceContext, "pool" | "sequencer">;

type IsMine = () => boolean;
const ALWAYS: IsMine = () => true;

/** Markets per sweep; the next sweep takes the rest. */
const MAX_CLOSINGS = 500;
const SWEEP_MS = 2000;

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
 * Sweeps every few seconds until stopped.
 * @param isMine whether this process sweeps now
 */
export function startClosingSweeper(
  context: SweeperContext,
  onError: (error: unknown) => void,
  isMine: IsMine = ALWAYS,
): Sweeper {
  return startSweeper(async () => isMine() && sweepClosings(context), SWEEP_MS, onError);
}

/**
 * Records the end of overrides; the entry that set one names the actor and the time. Trades go by the clock, so nothing
 * depends on this entry. Any number of processes may sweep at once: the engine records an end once.
 * @returns how many overrides this sweep found ended
 */
export async function sweepOverrides({ pool, sequencer }: SweeperContext): Promise<number> {
  if (!(await pool.read(hasEndedOverrides))) return 0;
  const { result } = await sequencer.submit({ command: { type: "endOverrides" }, actor: SYSTEM_ACTOR });
  return result?.ended ?? 0;
}

/**
 * Sweeps every few seconds until stopped.
 * @param isMine whether this process sweeps now
 */
export function startOverrideSweeper(
  context: SweeperContext,
  onError: (error: unknown) => void,
  isMine: IsMine = ALWAYS,
): Sweeper {
  return startSweeper(async () => isMine() && sweepOverrides(context), SWEEP_MS, onError);
}
