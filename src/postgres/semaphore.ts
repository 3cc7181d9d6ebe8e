import { Fault } from "../domain/fault.ts";

/** A number of places, each held by one user at a time, given in the order of requests. */
export class Semaphore {
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

  /** The number of waiting users. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Waits for a place. @param signal ends the wait: the promise rejects with its reason */
  async take(signal?: AbortSignal): Promise<number> {
    signal?.throwIfAborted();
    const free = this.#free.pop();
    if (free !== undefined) return free;
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const leave = () => {
      const at = this.#waiting.indexOf(resolve);
      // A place may have been given a moment ago.
      if (at < 0) return;
      this.#waiting.splice(at, 1);
      reject(signal?.reason);
    };
    this.#waiting.push(resolve);
    signal?.addEventListener("abort", leave, { once: true });
    return promise.finally(() => signal?.removeEventListener("abort", leave));
  }

  /** Returns a place. */
  give(place: number): void {
    const next = this.#waiting.shift();
    if (next) next(place);
    else this.#free.push(place);
  }

  /** @throws Fault OVERLOADED if there is no place within `waitMs`; waits without limit by default */
  async hold<T>(work: (place: number) => Promise<T>, waitMs?: number): Promise<T> {
    const place = await (waitMs === undefined || this.#free.length > 0 ? this.take() : this.#takeWithin(waitMs));
    try {
      return await work(place);
    } finally {
      this.give(place);
    }
  }

  async #takeWithin(waitMs: number): Promise<number> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(overloaded()), waitMs);
    try {
      return await this.take(late.signal);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** A statement found no connection in time. */
export function overloaded(): Fault {
  const message = "Every connection to the database is in use: try again; nothing was executed";
  return new Fault("OVERLOADED", message, { status: 503, retryAfterSec: 1 });
}
