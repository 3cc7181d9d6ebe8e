/** A `Date` header is cut off to the second, and an answer takes its time. */
const CLOSE_MS = 1500;

/** The server's time, so that a wrong clock of the reader does no harm. */
export class ServerClock {
  #aheadMs: number;

  /** @param madeAt the server's time when it made the document, milliseconds since the epoch; older where it was cached */
  constructor(madeAt: number) {
    this.#aheadMs = madeAt - performance.now();
  }

  /** Milliseconds since the epoch. */
  now(): number {
    return this.#aheadMs + performance.now();
  }

  /** @param serverMs the server's time to a second, as an answer states it; not a number where it states none */
  correct(serverMs: number): void {
    const middle = serverMs + 500;
    if (Math.abs(middle - this.now()) > CLOSE_MS) this.#aheadMs = middle - performance.now();
  }
}
