import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";

/** When a supervised process is restarted. All times are in milliseconds. */
export interface RestartPolicy {
  /** The pause before the first restart; doubles with each further failure. */
  firstPauseMs: number;
  longestPauseMs: number;
  /** A run of this length resets the count of failures. */
  healthyMs: number;
  /** The time from SIGTERM to SIGKILL, more than the 25 s that a server may take to drain. */
  stopMs: number;
}

export const RESTART_POLICY: RestartPolicy = {
  firstPauseMs: 500,
  longestPauseMs: 60_000,
  healthyMs: 60_000,
  stopMs: 30_000,
};

export interface SupervisedOptions {
  /** Node's arguments, computed for each start. */
  args: () => readonly string[];
  environment: Readonly<Record<string, string>>;
  directory: string;
  policy?: RestartPolicy;
  /** Receives each line that the process writes. */
  onLine(stream: "stdout" | "stderr", line: string): void;
  /** Called when the process ended by itself; it is restarted after the pause. */
  onRestart(ending: string, pauseMs: number): void;
}

/** The pause before the nth restart in a row, n from 1. */
export function pauseBefore(restart: number, { firstPauseMs, longestPauseMs }: RestartPolicy): number {
  return Math.min(firstPauseMs * 2 ** (restart - 1), longestPauseMs);
}

/**
 * Keeps one process running until `stop`. When this process ends, even by SIGKILL, the IPC channel closes and the child
 * ends too.
 */
export class Supervised {
  readonly #options: SupervisedOptions;
  readonly #policy: RestartPolicy;
  readonly #stopping = new AbortController();
  #child: ChildProcess | undefined;
  /** Resolves once the process has stopped: to false when it had to be killed. */
  readonly stopped: Promise<boolean>;

  constructor(options: SupervisedOptions) {
    this.#options = options;
    this.#policy = options.policy ?? RESTART_POLICY;
    this.stopped = this.#run();
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Repeats the request to end, which stops a server's draining. */
  hurry(): void {
    this.#child?.kill("SIGTERM");
  }

  /** Asks the process to end, and kills it if it does not. */
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
      // A process group of its own: Ctrl-C reaches only this process, which then stops its children.
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
