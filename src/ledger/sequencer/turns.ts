import type { Journal } from "../journal.ts";
import type { State } from "./state.ts";

/** How long a process starts batches in its turn. The last two end later: with batches of 5 ms, another process waits 25 ms. */
const TURN_MS = 15;
/** How long a process without commands keeps its turn for the next commands of the callers that it has just answered. */
const REST_MS = 3;
/** How long this process keeps taking turns after another process's last write. */
const ALONE_AFTER_MS = 1000;
/** How long the head is locked without a turn after a turn request failed, because waiting for a turn costs the lock timeout. */
const WITHOUT_TURNS_MS = 5000;

interface TurnsOptions {
  journal: Journal;
  state: State;
  monotonic: () => number;
  after: (ms: number, run: () => void) => () => void;
}

/**
 * Turns of processes that write at the same time: while one commits several batches the others collect theirs, so that
 * none loses its swap to another. A single process takes no turns.
 */
export class Turns {
  readonly #journal: Journal;
  readonly #state: State;
  readonly #monotonic: () => number;
  readonly #after: (ms: number, run: () => void) => () => void;
  /** When another process last wrote, as far as known; null while this process is alone. */
  #othersWroteAt: number | null = null;
  #held: { until: number; end: () => void } | null = null;
  #keepOn: () => void = () => {};
  #noTurnsUntil = Number.NEGATIVE_INFINITY;

  constructor({ journal, state, monotonic, after }: TurnsOptions) {
    this.#journal = journal;
    this.#state = state;
    this.#monotonic = monotonic;
    this.#after = after;
  }

  /** Records that another process was faster. */
  lost(): void {
    this.#othersWroteAt = this.#monotonic();
  }

  /** Whether another process may be waiting. */
  get isOver(): boolean {
    return this.#othersWroteAt !== null && !(this.#held && this.#monotonic() < this.#held.until);
  }

  /** Waits for a turn if one is needed. False if no turn is available: then the head must be locked. */
  async begin(): Promise<boolean> {
    this.#keepOn();
    if (!this.isOver) return true;
    this.end();
    if (this.#monotonic() < this.#noTurnsUntil) return false;
    try {
      const { reading, touched, end } = await this.#journal.takeTurn(this.#state.head);
      this.#held = { until: this.#monotonic() + TURN_MS, end };
      const isQuiet = await this.#state.catchUp(reading, touched);
      if (!isQuiet) this.#othersWroteAt = this.#monotonic();
      else if (this.#othersWroteAt !== null && this.#monotonic() - this.#othersWroteAt > ALONE_AFTER_MS) {
        this.#othersWroteAt = null;
        this.end();
      }
      return true;
    } catch {
      // The slow path meets the same database problem and reports it.
      this.#state.forget();
      this.end();
      this.#noTurnsUntil = this.#monotonic() + WITHOUT_TURNS_MS;
      return false;
    }
  }

  /** Called when there is nothing to write. A turn costs as much as a batch, so it is kept for a moment. */
  rest(): void {
    if (!this.#held) return;
    const ms = Math.min(REST_MS, this.#held.until - this.#monotonic());
    if (ms > 0) this.#keepOn = this.#after(ms, () => this.end());
    else this.end();
  }

  end(): void {
    this.#keepOn();
    this.#held?.end();
    this.#held = null;
  }
}
