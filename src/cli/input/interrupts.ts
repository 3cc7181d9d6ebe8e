import { EXIT, type ExitCode } from "../errors.ts";

/** npm and timeout(1) forward a signal that every process has received. A second signal at once counts as the same. */
const REPEATED_SIGNAL_MS = 500;

/**
 * What Ctrl-C does. A command that ends by itself is stopped at once: a change that it sent is committed as a whole or
 * not at all. A command that serves takes the signals over, and ends by itself.
 */
export class Interrupts {
  readonly #controller = new AbortController();
  #next: AbortController | undefined;
  #taken = false;
  #held = 0;
  readonly #process: NodeJS.Process | undefined;
  #abortedAt = 0;
  #exitCode: ExitCode = EXIT.ok;
  #beforeExit: () => void = () => {};

  /** @param process whose signals count; tests that run a command within their own process give none */
  constructor(process?: NodeJS.Process) {
    this.#process = process;
  }

  /** Exit code of a long-running command: 130 after Ctrl-C, 0 after a supervisor's SIGTERM. */
  get exitCode(): ExitCode {
    return this.#exitCode;
  }

  /** From now on the first SIGINT, SIGTERM or SIGHUP aborts the returned signal; the next one ends the process. */
  take(): AbortSignal {
    this.#taken = true;
    // The supervisor may have ended while this process was still loading.
    if (this.#process?.connected === false) this.#controller.abort();
    return this.#controller.signal;
  }

  /** Runs the final work of a process: the next signal aborts the work's own signal instead of ending the process. */
  async during(work: (next: AbortSignal) => Promise<void>): Promise<void> {
    const next = new AbortController();
    this.#next = next;
    await work(next.signal).finally(() => {
      this.#next = undefined;
    });
  }

  /** Registers the hint for Ctrl-C in a command that may have sent a change: where to see whether it was committed. */
  beforeExit(say: () => void): void {
    this.#beforeExit = say;
  }

  /** Leaves Ctrl-C to a program that has the terminal, until the returned function is called. */
  hold(): () => void {
    this.#held += 1;
    return () => {
      this.#held -= 1;
    };
  }

  /**
   * Listens to the process. Called once, when the command begins. Earlier signals end the process at once: `serve`
   * replaces the process, and a caught signal would be lost.
   */
  listen(): void {
    const process = this.#process;
    if (!process) return;
    process.on("SIGINT", () => {
      if (this.#held !== 0 || this.#abort(EXIT.interrupted)) return;
      this.#beforeExit();
      process.exit(EXIT.interrupted);
    });
    // Unless a command took the signals over, they end the process as usual: with 128 and the signal's number.
    process.on("SIGTERM", () => {
      if (!this.#abort()) process.exit(143);
    });
    process.on("SIGHUP", () => {
      if (!this.#abort()) process.exit(129);
    });
    // The supervisor has ended, and no other process would ever stop this one.
    process.on("disconnect", () => {
      if (this.#taken) this.#abort();
      else process.exit(143);
    });
  }

  #abort(exitCode: ExitCode = EXIT.ok): boolean {
    if (!this.#taken) return false;
    const [first, now] = [this.#controller, performance.now()];
    if (first.signal.aborted && now - this.#abortedAt < REPEATED_SIGNAL_MS) {
      // Two signals that are sent at once can arrive in any order.
      this.#exitCode ||= exitCode;
      return true;
    }
    const due = first.signal.aborted ? this.#next : first;
    if (!due || due.signal.aborted) return false;
    if (due === first) this.#exitCode = exitCode;
    this.#abortedAt = now;
    due.abort();
    return true;
  }
}
