/** After this long without a reading the two clocks may have parted, and the database's may have been set. */
const MAX_AGE_MS = 10_000;

/** Time as the database tells it, carried forward by the process's monotonic clock between its answers. */
export class DatabaseClock {
  readonly #monotonic: () => number;
  #offset: number | null = null;
  #observedAt = Number.NEGATIVE_INFINITY;

  /** @param monotonic milliseconds that never step back, such as performance.now */
  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** Takes a reading over as it arrives. It is behind by at most the answer's way back, never ahead. */
  observe(databaseNow: number): void {
    this.#observedAt = this.#monotonic();
    this.#offset = databaseNow - this.#observedAt;
  }

  /** Whether the last reading is too old to decide by. */
  get isStale(): boolean {
    return this.#monotonic() - this.#observedAt > MAX_AGE_MS;
  }

  /** Whole milliseconds since the epoch. */
  now(): number {
    if (this.#offset === null) throw new Error("The database's clock has not been read yet");
    return Math.floor(this.#monotonic() + this.#offset);
  }
}

/** Runs something later; returns how to call it off. */
export function later(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}
