import { wallClockMs } from "../../domain/time/clock.ts";

/** Uses may be stored up to a minute late; a shorter interval leaves time for a slow database. */
const WRITE_INTERVAL_MS = 15_000;

/** When keys were used. Collected in memory and written in batches, so that no request waits. */
export class KeyUse {
  readonly #write: (seen: ReadonlyMap<string, number>) => Promise<void>;
  #seen = new Map<string, number>();
  #writing: Promise<void> | undefined;
  readonly #timer: NodeJS.Timeout;

  constructor(write: (seen: ReadonlyMap<string, number>) => Promise<void>, everyMs = WRITE_INTERVAL_MS) {
    this.#write = write;
    this.#timer = setInterval(() => this.#flush(), everyMs).unref();
  }

  note(hash: string): void {
    this.#seen.set(hash, wallClockMs());
  }

  /** Writes the rest in one attempt; if the database is unavailable, the rest is lost. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#writing;
    await this.#flush();
  }

  #flush(): Promise<void> {
    if (this.#seen.size === 0 || this.#writing) return this.#writing ?? Promise.resolve();
    const seen = this.#seen;
    this.#seen = new Map();
    this.#writing = this.#write(seen)
      .catch(() => {
        // The next batch writes these; a key used since then keeps its later time.
        this.#seen = new Map([...seen, ...this.#seen]);
      })
      .finally(() => {
        this.#writing = undefined;
      });
    return this.#writing;
  }
}
