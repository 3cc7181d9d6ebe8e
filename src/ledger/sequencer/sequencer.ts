import type { AuditKey } from "../../domain/audit/seal.ts";
import { Fault } from "../../domain/fault.ts";
import type { Command } from "../../engine/commands.ts";
import { StatementFailed, Unconfirmed } from "../../postgres/connect.ts";
import { type Batch, type Head, sameHead } from "../commit.ts";
import type { HeadReading, Journal } from "../journal.ts";
import { acknowledges, isQuiet, needsOfSubmission, type Prepared, prepareBatch, type Submission } from "./batch.ts";
import { DatabaseClock, later } from "./database-clock.ts";
import { faultOf, leftNothing, outcomeUnknown, overloaded } from "./faults.ts";
import { type Answer, type Job, settle } from "./job.ts";
import { Memory } from "./memory.ts";
import type { SequencerOptions } from "./options.ts";
import { Queue } from "./queue.ts";

/** Swaps lost in a row before a batch gives up its turn. On the slow path only the closing of a market loses one. */
const MAX_ATTEMPTS = 8;
/** The longest pause before a batch that failed as a whole is executed again; it doubles. */
const RETRY_PAUSE_MS = 10;
/** How long a batch whose outcome is unknown waits for the database before its callers are told so. */
const MAX_UNKNOWN_MS = 8000;

/**
 * One ordered stream of commits for a tenant. While a commit is in flight the next batch fills. An answer is given only
 * once the head has confirmed the state that it rests on, by the swap or, when nothing was written, by a read.
 */
export class Sequencer {
  readonly #journal: Journal;
  readonly #auditKey: AuditKey;
  readonly #monotonic: () => number;
  readonly #after: (ms: number, run: () => void) => () => void;
  readonly #random: () => number;
  readonly #defer: (work: () => void) => void;
  readonly #onError: (error: unknown) => void;
  readonly #onSend: (batch: Batch) => void;
  readonly #onCommit: NonNullable<SequencerOptions["onCommit"]>;
  readonly #memory = new Memory();
  readonly #clock: DatabaseClock;
  readonly #queue: Queue<Job>;
  /** The head as this process last saw it; null when memory is empty. */
  #head: Head | null = null;
  #epoch = 0n;
  /** Another process has been writing: take the slow path until it is quiet. */
  #contended = false;
  /** A statement of unknown outcome may still be under way, so the fence goes first. */
  #unfenced = false;
  #running: Promise<void> | null = null;
  #closed = false;

  constructor({ journal, auditKey, monotonic, after, random, defer, onError, onSend, onCommit }: SequencerOptions) {
    this.#journal = journal;
    this.#auditKey = auditKey;
    this.#monotonic = monotonic ?? (() => performance.now());
    this.#after = after ?? later;
    this.#random = random ?? Math.random;
    this.#defer = defer ?? setImmediate;
    this.#onError = onError ?? (() => {});
    this.#onSend = onSend ?? (() => {});
    this.#onCommit = onCommit ?? (() => {});
    this.#clock = new DatabaseClock(this.#monotonic);
    this.#queue = new Queue({
      monotonic: this.#monotonic,
      after: this.#after,
      onLate: (job) => job.reject(overloaded()),
    });
  }

  get queueLength(): number {
    return this.#queue.length;
  }

  /**
   * Resolves after the commit.
   * @throws Fault the command's refusal; OVERLOADED (never executed); DATABASE_UNAVAILABLE (not executed);
   * OUTCOME_UNKNOWN (it may or may not be in, and a retry with the same Idempotency-Key tells).
   */
  submit<C extends Command>(submission: Submission<C>): Promise<Answer<C>> {
    if (this.#closed) return Promise.reject(new Fault("DATABASE_UNAVAILABLE", "The server is shutting down"));
    if (this.#queue.isFull) return Promise.reject(overloaded());
    return new Promise<Answer<C>>((resolve, reject) => {
      const job = { ...submission, enqueuedAt: this.#monotonic(), resolve, reject };
      this.#queue.push(job as unknown as Job);
      this.#running ??= this.#run();
    });
  }

  /** Finishes what is queued and refuses what comes after. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
    await new Promise<void>((resolve) => this.#defer(resolve));
  }

  async #run(): Promise<void> {
    // The callers of this turn of the event loop all belong to the first batch.
    await Promise.resolve();
    while (this.#queue.length > 0) {
      const jobs = this.#queue.take();
      if (jobs.length > 0) await this.#process(jobs);
    }
    // In the same turn as the look at the queue: a command that came after it would wait for ever.
    this.#running = null;
  }

  async #process(jobs: Job[]): Promise<void> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      try {
        await this.#fenceIfNeeded();
        if (await (this.#contended ? this.#commitLocked(jobs) : this.#commitFast(jobs))) return;
      } catch (error) {
        this.#forget();
        if (error instanceof StatementFailed && (attempt === 0 || error.isConflict)) {
          await this.#pause(this.#random() * RETRY_PAUSE_MS * 2 ** attempt);
          continue;
        }
        if (error instanceof StatementFailed && error.isAboutData && jobs.length > 1) return this.#bisect(jobs);
        this.#onError(error);
        for (const job of jobs) job.reject(faultOf(error));
        return;
      }
    }
    for (const job of jobs) job.reject(overloaded());
  }

  /** When the database rejects a batch for its data, halving it finds the command at fault, and the others are committed. */
  async #bisect(jobs: Job[]): Promise<void> {
    const middle = jobs.length >> 1;
    await this.#process(jobs.slice(0, middle));
    await this.#process(jobs.slice(middle));
  }

  /** One round trip when every row is in memory. False when the head had moved. */
  async #commitFast(jobs: Job[]): Promise<boolean> {
    const head = this.#head !== null && !this.#clock.isStale ? this.#head : await this.#readHead();
    const prepared = await this.#prepare(jobs, head);
    if (!(await this.#swap(prepared, head))) {
      this.#forget();
      this.#contended = true;
      return false;
    }
    this.#publish(jobs, prepared);
    return true;
  }

  /** Where the head stands, and what the clock says. Memory may be used only if no other process has written. */
  async #readHead(): Promise<Head> {
    const reading = await this.#journal.readHead();
    if (this.#head && !sameHead(this.#head, reading.head)) this.#forget();
    this.#head = this.#adopt(reading);
    return this.#head;
  }

  /** The head row is locked first, so no other process overtakes: two busy processes both make progress. */
  async #commitLocked(jobs: Job[]): Promise<boolean> {
    const sent: { prepared?: Prepared; swapped?: boolean } = {};
    const work = async (reading: HeadReading): Promise<boolean> => {
      const quiet = this.#head !== null && sameHead(this.#head, reading.head);
      if (quiet) this.#contended = false;
      else this.#forget();
      this.#head = this.#adopt(reading);
      sent.prepared = await this.#prepare(jobs, this.#head);
      // Read again even here: the lock is gone, unnoticed, if the connection died since it was asked for.
      if (!sent.prepared.batch) return this.#unmoved(this.#head, sent.prepared);
      sent.swapped = await this.#commit(sent.prepared.batch);
      return sent.swapped;
    };
    let confirmed: boolean;
    try {
      confirmed = await this.#journal.exclusively(work);
      // The commit of a transaction that died with its connection reports success on the next one, hence the read.
      if (sent.swapped && sent.prepared?.batch) confirmed = await this.#stands(sent.prepared.batch);
    } catch (error) {
      // After a swap not even the database's error proves that nothing was written: without its transaction the statement
      // was a commit by itself.
      if (!sent.prepared || (leftNothing(error) && !sent.swapped)) throw error;
      confirmed = await this.#isIn(sent.prepared.batch, error);
    }
    if (confirmed && sent.prepared) this.#publish(jobs, sent.prepared);
    else this.#forget();
    return confirmed;
  }

  async #prepare(jobs: Job[], head: Head): Promise<Prepared> {
    const missing = this.#memory.missing(jobs.flatMap(needsOfSubmission));
    if (missing.length > 0) this.#memory.learn(await this.#journal.load(missing));
    return prepareBatch(this.#memory, jobs, { head, now: this.#clock.now(), key: this.#auditKey });
  }

  /** Swaps the head for the batch, or confirms it when there is nothing to write. False when it had moved. */
  async #swap(prepared: Prepared, head: Head): Promise<boolean> {
    try {
      if (!prepared.batch) return await this.#unmoved(head, prepared);
      return await this.#commit(prepared.batch);
    } catch (error) {
      if (leftNothing(error) || !acknowledges(prepared)) throw error;
      return this.#isIn(prepared.batch, error);
    }
  }

  async #commit(batch: Batch): Promise<boolean> {
    this.#onSend(batch);
    const { swapped, now } = await this.#journal.commit(batch);
    this.#clock.observe(now);
    return swapped;
  }

  /**
   * Nothing to write: the answers hold if the head is still where the state says. A refusal may rest on what only this
   * server has; an acknowledgement, such as a replay of what an earlier attempt wrote, is confirmed by a write.
   */
  async #unmoved(head: Head, answers?: Prepared): Promise<boolean> {
    const confirms = answers && acknowledges(answers);
    const reading = await (confirms ? this.#journal.confirmHead() : this.#journal.readHead());
    this.#clock.observe(reading.now);
    return sameHead(head, reading.head);
  }

  /** Whether a batch is in, after a commit that said so. A quiet one is in if no other process has written since. */
  async #stands(batch: Batch): Promise<boolean> {
    return isQuiet(batch) ? this.#unmoved(batch.next) : this.#journal.contains(batch.next);
  }

  /**
   * Whether the batch is in, although its statement ended with `error`.
   * @throws the error, when it is not in and the error says what happened: executing again would meet it again.
   */
  async #isIn(batch: Batch | null, error: unknown): Promise<boolean> {
    const isIn = await this.#resolveUnknown(batch);
    if (isIn || error instanceof Unconfirmed) return isIn;
    throw error;
  }

  /**
   * Fence, then read. The fence raises the head's epoch: it waits for whatever the lost connection still has under way and shuts it out; a write
   * itself, it is confirmed only with everything before it. After it the chain says exactly whether the batch is in, and
   * for good. Until both have answered the batch must not be executed again, whatever it is that keeps them from
   * answering. A quiet batch, or none, is executed again in any case: then its commands find what they left.
   */
  async #resolveUnknown(batch: Batch | null): Promise<boolean> {
    this.#unfenced = true;
    const deadline = this.#monotonic() + MAX_UNKNOWN_MS;
    for (let pause = 20; ; pause = Math.min(pause * 2, 500)) {
      try {
        await this.#fenceIfNeeded();
        return batch !== null && !isQuiet(batch) && (await this.#journal.contains(batch.next));
      } catch (cause) {
        if (this.#monotonic() >= deadline) throw outcomeUnknown(cause);
        await this.#pause(pause);
      }
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.#after(ms, resolve));
  }

  async #fenceIfNeeded(): Promise<void> {
    if (!this.#unfenced) return;
    this.#adopt(await this.#journal.fence());
    this.#unfenced = false;
  }

  #publish(jobs: Job[], { outcomes, batch }: Prepared): void {
    this.#memory.publish(batch?.writes ?? []);
    if (batch) {
      // A fence on the way here, or a quiet batch, has moved the epoch on.
      if (batch.next.epoch > this.#epoch) this.#epoch = batch.next.epoch;
      this.#head = { ...batch.next, epoch: this.#epoch };
    }
    // The next batch goes to the database first: what callers do with their answers need not keep it waiting.
    this.#defer(() => settle(jobs, outcomes));
    if (batch) {
      const { audit, expected: before, next: head } = batch;
      this.#onCommit({ commands: jobs.length, entries: audit.length, before, head });
    }
  }

  #adopt({ head, now }: HeadReading): Head {
    this.#clock.observe(now);
    this.#epoch = head.epoch;
    return head;
  }

  #forget(): void {
    this.#memory.forget();
    this.#head = null;
  }
}
