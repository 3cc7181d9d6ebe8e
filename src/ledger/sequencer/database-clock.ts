/** After this time without a reading, the two clocks may have diverged, or the database's may have been set. */
const MAX_AGE_MS = 10_000;

/** The database's time, advanced by the process's monotonic clock between readings. */
export class DatabaseClock {
  readonly #monotonic: () => number;
  #offset: number | null = null;
  #observedAt = Number.NEGATIVE_INFINITY;

  /** @param monotonic milliseconds that never move back, such as performance.now */
  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** Accepts a reading on arrival. It lags by at most the answer's travel time, and is never ahead. */
  observe(databaseNow: number): void {
    this.#observedAt = this.#monotonic();
    this.#offset = databaseNow - this.#observedAt;
  }

  /** Whether the last reading is too old for decisions. */
  get isStale(): boolean {
    return this.#monotonic() - this.#observedAt > MAX_AGE_MS;
  }

  /** Whole milliseconds since the epoch. */
  now(): number {
    if (this.#offset === null) throw new Error("The database's clock has not been read yet");
    return Math.floor(this.#monotonic() + this.#offset);
  }
}

/** Runs something later; returns a function that cancels it. */
export function later(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}
