import { EXIT } from "./errors.ts";

/**
 * What Ctrl-C does. A command that is half-way ends at once: whatever it sent is either committed or not. A command
 * that serves takes the signals over, and ends by itself.
 */
export class Interrupts {
  readonly #controller = new AbortController();
  #taken = false;

  /** From now on the first SIGINT or SIGTERM aborts this signal; the next one ends the process. */
  take(): AbortSignal {
    this.#taken = true;
    return this.#controller.signal;
  }

  /** Listens to the process. Called once, by its entry. */
  listen(process: NodeJS.Process): void {
    process.on("SIGINT", () => {
      if (!this.#abort()) process.exit(EXIT.interrupted);
    });
    process.on("SIGTERM", () => {
      // Without a command that cares, this ends as it would have without us: 128 + 15.
      if (!this.#abort()) process.exit(143);
    });
  }

  #abort(): boolean {
    if (!this.#taken || this.#controller.signal.aborted) return false;
    this.#controller.abort();
    return true;
  }
}
