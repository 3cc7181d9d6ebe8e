import { type Command, needsOwnBatch } from "../../engine/commands.ts";

/** Commands per commit; the parameters of a full batch stay well below a megabyte. */
const MAX_BATCH = 1024;
/** The most waiting commands; beyond this, callers are told to retry. */
const MAX_QUEUE = 8192;
/** A command that waits longer gets an error and never executes. */
const MAX_WAIT_MS = 2000;

interface Waiting {
  command: Command;
  enqueuedAt: number;
}

export interface QueueOptions<Job> {
  /** Milliseconds that never move back. */
  monotonic: () => number;
  /** Runs something later; returns a function that cancels it. */
  after: (ms: number, run: () => void) => () => void;
  /**
   * Called with each command that waited too long, as soon as its time is up, even during a long commit.
   * @param isStuck nothing was taken during that time, so the wait is not due to the number of commands
   */
  onLate: (job: Job, isStuck: boolean) => void;
}

/** Commands that wait for the current commit, oldest first. */
export class Queue<Job extends Waiting> {
  readonly #options: QueueOptions<Job>;
  readonly #jobs: Job[] = [];
  #callOff: (() => void) | null = null;
  #takenAt = Number.NEGATIVE_INFINITY;

  constructor(options: QueueOptions<Job>) {
    this.#options = options;
  }

  get length(): number {
    return this.#jobs.length;
  }

  get isFull(): boolean {
    return this.#jobs.length >= MAX_QUEUE;
  }

  /** The oldest command. */
  get next(): Job | undefined {
    return this.#jobs[0];
  }

  push(job: Job): void {
    this.#jobs.push(job);
    this.#watch();
  }

  /** The next batch: as many commands as may share one, without those that waited too long. */
  take(): Job[] {
    this.#dropLate();
    let size = 0;
    while (size < MAX_BATCH && size < this.#jobs.length) {
      if (needsOwnBatch((this.#jobs[size] as Job).command)) {
        if (size === 0) size = 1;
        break;
      }
      size += 1;
    }
    const batch = this.#jobs.splice(0, size);
    this.#takenAt = this.#options.monotonic();
    this.#callOff?.();
    this.#callOff = null;
    this.#watch();
    return batch;
  }

  /** Returns taken commands that were not executed to the front. */
  putBack(jobs: readonly Job[]): void {
    this.#jobs.unshift(...jobs);
    this.#callOff?.();
    this.#callOff = null;
    this.#watch();
  }

  /** Sets one timer for the oldest command; the others become due later. */
  #watch(): void {
    const [oldest] = this.#jobs;
    if (!oldest || this.#callOff) return;
    const { after, monotonic } = this.#options;
    // At least a millisecond: a timer may fire slightly early, and would be set again and again.
    const ms = Math.max(oldest.enqueuedAt + MAX_WAIT_MS - monotonic(), 1);
    this.#callOff = after(ms, () => {
      this.#callOff = null;
      this.#dropLate();
      this.#watch();
    });
  }

  #dropLate(): void {
    const latest = this.#options.monotonic() - MAX_WAIT_MS;
    const onTime = this.#jobs.findIndex(({ enqueuedAt }) => enqueuedAt > latest);
    for (const job of this.#jobs.splice(0, onTime < 0 ? this.#jobs.length : onTime))
      this.#options.onLate(job, job.enqueuedAt >= this.#takenAt);
  }
}
