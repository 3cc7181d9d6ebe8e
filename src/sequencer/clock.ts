/** Time as the database tells it, carried forward by the process's monotonic clock between its answers. */
export class DatabaseClock {
  readonly #monotonic: () => number;
  #offset: number | null = null;

  /** @param monotonic milliseconds that never step back, such as performance.now */
  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** Takes a reading over as it arrives. It is behind by at most the answer's way back, never ahead. */
  observe(databaseNow: number): void {
    this.#offset = databaseNow - this.#monotonic();
  }

  /** Whole milliseconds since the epoch. */
  now(): number {
    if (this.#offset === null) throw new Error("The database's clock has not been read yet");
    return Math.floor(this.#monotonic() + this.#offset);
  }
}
