import { wallClockMs } from "../../domain/time/clock.ts";

/** A use may be known a minute late; this leaves room for a slow database. */
const TELL_EVERY_MS = 15_000;

/** When keys were used, collected in memory and told in batches, so that no request waits for it. */
export class KeyUse {
  readonly #tell: (seen: ReadonlyMap<string, number>) => Promise<void>;
  #seen = new Map<string, number>();
  #telling: Promise<void> | undefined;
  readonly #timer: NodeJS.Timeout;

  constructor(tell: (seen: ReadonlyMap<string, number>) => Promise<void>, everyMs = TELL_EVERY_MS) {
    this.#tell = tell;
    this.#timer = setInterval(() => this.#flush(), everyMs).unref();
  }

  note(hash: string): void {
    this.#seen.set(hash, wallClockMs());
  }

  /** Writes what is left, in one attempt: while the database is away, it stays unwritten. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#telling;
    await this.#flush();
  }

  #flush(): Promise<void> {
    if (this.#seen.size === 0 || this.#telling) return this.#telling ?? Promise.resolve();
    const seen = this.#seen;
    this.#seen = new Map();
    this.#telling = this.#tell(seen)
      .catch(() => {
        // Written with the next batch; a key used since then keeps its later time.
        this.#seen = new Map([...seen, ...this.#seen]);
      })
      .finally(() => {
        this.#telling = undefined;
      });
    return this.#telling;
  }
}
