/** A number of places, each held by one user at a time, given in the order of asking. */
export class Places {
  readonly #count: number;
  readonly #free: number[];
  readonly #waiting: ((place: number) => void)[] = [];

  constructor(count: number) {
    this.#count = count;
    this.#free = Array.from({ length: count }, (_, place) => place);
  }

  get taken(): number {
    return this.#count - this.#free.length;
  }

  /** Waits for a place. @param signal ends the wait: the promise rejects with its reason */
  async take(signal?: AbortSignal): Promise<number> {
    signal?.throwIfAborted();
    const free = this.#free.pop();
    if (free !== undefined) return free;
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const leave = () => {
      const at = this.#waiting.indexOf(resolve);
      // It may have been given a place a moment ago.
      if (at < 0) return;
      this.#waiting.splice(at, 1);
      reject(signal?.reason);
    };
    this.#waiting.push(resolve);
    signal?.addEventListener("abort", leave, { once: true });
    return promise.finally(() => signal?.removeEventListener("abort", leave));
  }

  /** Gives a place back that was taken. */
  give(place: number): void {
    const next = this.#waiting.shift();
    if (next) next(place);
    else this.#free.push(place);
  }

  async hold<T>(work: (place: number) => Promise<T>): Promise<T> {
    const place = await this.take();
    try {
      return await work(place);
    } finally {
      this.give(place);
    }
  }
}
