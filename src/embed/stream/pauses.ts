const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;

/** The pauses between attempts to reach the server: each twice as long as the one before, until an attempt succeeds. */
export class Pauses {
  #ms = FIRST_PAUSE_MS;
  #mayHurry = true;
  #end = (): void => {};

  /**
   * Begins a pause.
   * @param askedMs the milliseconds that the server asked for; 0 after a successful connection, undefined after a failed one
   */
  begin(askedMs: number | undefined): { ms: number; isOver: Promise<void> } {
    this.#ms = askedMs === 0 ? FIRST_PAUSE_MS : Math.min(Math.max(this.#ms * 2, askedMs ?? 0), LONGEST_PAUSE_MS);
    // A time that the server asked for is not cut short.
    this.#mayHurry = !askedMs;
    // All widgets lost the server at the same moment; a random share spreads their return.
    const ms = Math.max(askedMs ?? 0, this.#ms * (0.5 + Math.random() / 2));
    const isOver = new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#end = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    return { ms, isOver };
  }

  wait(askedMs: number | undefined): Promise<void> {
    return this.begin(askedMs).isOver;
  }

  /** Ends the pause, unless the server asked for it. */
  hurry(): void {
    if (this.#mayHurry) this.#end();
  }

  /** Ends the pause. */
  end(): void {
    this.#end();
  }
}
