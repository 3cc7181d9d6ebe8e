import type { Journal } from "../journal.ts";
import type { State } from "./state.ts";

/** How long a process begins batches in its turn. The last two end after it: of two processes the other waits 25 ms where a batch takes 5. */
const TURN_MS = 15;
/** How long a process without commands keeps its turn for those that the callers it has just answered send next. */
const REST_MS = 3;
/** How long after another process's last write this one goes on taking turns. */
const ALONE_AFTER_MS = 1000;
/** How long the head is locked without asking for a turn after a turn request failed: waiting for a turn costs the lock timeout. */
const WITHOUT_TURNS_MS = 5000;

interface TurnsOptions {
  journal: Journal;
  state: State;
  monotonic: () => number;
  after: (ms: number, run: () => void) => () => void;
}

/**
 * Turns of processes that write at the same time: while one commits several batches the others collect theirs, so that none
 * loses its swap to another. A process alone takes none.
 */
export class Turns {
  readonly #journal: Journal;
  readonly #state: State;
  readonly #monotonic: () => number;
  readonly #after: (ms: number, run: () => void) => () => void;
  /** When another process was last seen to have written; null while this process is alone. */
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

  /** Another process was faster. */
  lost(): void {
    this.#othersWroteAt = this.#monotonic();
  }

  /** Whether another process may be waiting by now. */
  get isOver(): boolean {
    return this.#othersWroteAt !== null && !(this.#held && this.#monotonic() < this.#held.until);
  }

  /** Waits for a turn where one is needed. False when there is none to be had: then the head has to be locked. */
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
      // Whatever is wrong with the database, the slow path meets it too, and says so.
      this.#state.forget();
      this.end();
      this.#noTurnsUntil = this.#monotonic() + WITHOUT_TURNS_MS;
      return false;
    }
  }

  /** Nothing is to be written just now. A turn of a single batch costs as much as the batch, so it is not given up at once. */
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
