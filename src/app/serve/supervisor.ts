import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";

/** When a supervised process is started again. All times in milliseconds. */
export interface RestartPolicy {
  /** Before the first restart; it doubles with each failure that follows. */
  firstPauseMs: number;
  longestPauseMs: number;
  /** After a run of this length the next failure counts as the first. */
  healthyMs: number;
  /** From SIGTERM to SIGKILL: more than the 25 s that a server may take to drain. */
  stopMs: number;
}

export const RESTART_POLICY: RestartPolicy = {
  firstPauseMs: 500,
  longestPauseMs: 60_000,
  healthyMs: 60_000,
  stopMs: 30_000,
};

export interface SupervisedOptions {
  /** What to run: Node, with these arguments, asked for each time. */
  args: () => readonly string[];
  environment: Readonly<Record<string, string>>;
  directory: string;
  policy?: RestartPolicy;
  /** A line that the process wrote. */
  onLine(stream: "stdout" | "stderr", line: string): void;
  /** Called when the process ended by itself; it is started again after the pause. */
  onRestart(ending: string, pauseMs: number): void;
}

/** The pause before the nth restart in a row, n from 1. */
export function pauseBefore(restart: number, { firstPauseMs, longestPauseMs }: RestartPolicy): number {
  return Math.min(firstPauseMs * 2 ** (restart - 1), longestPauseMs);
}

/**
 * Keeps one process running until `stop`. The IPC channel closes however this process ends, SIGKILL included, and the
 * child then ends too.
 */
export class Supervised {
  readonly #options: SupervisedOptions;
  readonly #policy: RestartPolicy;
  readonly #stopping = new AbortController();
  #child: ChildProcess | undefined;
  /** Resolves once the process was stopped; to false when it had to be killed. */
  readonly stopped: Promise<boolean>;

  constructor(options: SupervisedOptions) {
    this.#options = options;
    this.#policy = options.policy ?? RESTART_POLICY;
    this.stopped = this.#run();
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Repeats the request to end, which a server takes as the end of its draining. */
  hurry(): void {
    this.#child?.kill("SIGTERM");
  }

  /** Asks the process to end, and kills it when it does not. */
  async stop(): Promise<boolean> {
    this.#stopping.abort();
    const child = this.#child;
    child?.kill("SIGTERM");
    const timer = setTimeout(() => child?.kill("SIGKILL"), this.#policy.stopMs);
    try {
      return await this.stopped;
    } finally {
      clearTimeout(timer);
    }
  }

  async #run(): Promise<boolean> {
    const { signal } = this.#stopping;
    for (let failures = 0; ; ) {
      const startedAt = performance.now();
      const ending = await this.#runOnce();
      if (signal.aborted) return ending !== "SIGKILL";
      failures = performance.now() - startedAt >= this.#policy.healthyMs ? 1 : failures + 1;
      const pauseMs = pauseBefore(failures, this.#policy);
      this.#options.onRestart(ending, pauseMs);
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return true;
    }
  }

  /** Resolves to how the process ended: its exit code or its signal. */
  async #runOnce(): Promise<string> {
    const { args, directory, environment, onLine } = this.#options;
    const child = spawn(process.execPath, args(), {
      env: environment,
      cwd: directory,
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      // A process group of its own: Ctrl-C reaches this process alone, which then stops its children.
      detached: true,
    });
    this.#child = child;
    for (const name of ["stdout", "stderr"] as const) {
      const stream = child[name];
      if (stream) createInterface({ input: stream }).on("line", (line) => onLine(name, line));
    }
    const failed = once(child, "error").then(([error]) => String((error as NodeJS.ErrnoException).code));
    const closed = once(child, "close").then(([code, signal]) => (signal === null ? `exit code ${code}` : `${signal}`));
    const ending = await Promise.race([failed, closed]);
    this.#child = undefined;
    return ending;
  }
}
