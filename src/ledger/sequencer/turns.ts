import type { Journal } from "../journal.ts";
import type { State } from "./state.ts";

/** How long a process keeps its turn. With three of them none waits longer than 25 ms. */
const TURN_MS = 10;
/** How long after another process's last write this one goes on taking turns. */
const ALONE_AFTER_MS = 1000;
/** How long the head is locked without asking for a turn after one was not to be had: waiting for it costs the lock timeout. */
const WITHOUT_TURNS_MS = 5000;

/**
 * Turns of processes that write at the same time: while one commits several batches the others collect theirs, so that none
 * loses its swap to another. A process alone takes none.
 */
export class Turns {
  readonly #journal: Journal;
  readonly #state: State;
  readonly #monotonic: () => number;
  /** When another process was last seen to have written; null while this process is alone. */
  #othersWroteAt: number | null = null;
  #held: { until: number; end: () => void } | null = null;
  #noTurnsUntil = Number.NEGATIVE_INFINITY;

  constructor(journal: Journal, state: State, monotonic: () => number) {
    this.#journal = journal;
    this.#state = state;
    this.#monotonic = monotonic;
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

  end(): void {
    this.#held?.end();
    this.#held = null;
  }
}
