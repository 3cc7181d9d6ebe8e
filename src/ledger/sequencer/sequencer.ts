import type { Fault } from "../../domain/fault.ts";
import { type Command, needsOwnBatch } from "../../engine/commands.ts";
import { StatementFailed, Unconfirmed } from "../../postgres/connect.ts";
import { acknowledges, type Submission } from "./batch.ts";
import { Committer } from "./committer.ts";
import { later } from "./database-clock.ts";
import { faultOf, leftNothing, overloaded, shuttingDown } from "./faults.ts";
import { canBeFollowed, type Flight, type Job, type Submitted, settle } from "./job.ts";
import { awaitsCommit } from "./memory.ts";
import type { SequencerOptions } from "./options.ts";
import { Queue } from "./queue.ts";
import { State } from "./state.ts";
import { Turns } from "./turns.ts";

/** Attempts at a batch before its callers are told to retry. With the head locked, only the closing of a market can lose a swap. */
const MAX_ATTEMPTS = 8;
/** From this attempt on, the head is locked. */
const LOCKED_FROM = 2;
/** The longest pause before a failed batch is executed again; pauses double. */
const RETRY_PAUSE_MS = 10;

/**
 * One ordered stream of commits for a tenant. The next batch fills during a commit, and may be sent before the first is
 * answered. An answer is given only once its state is confirmed: by the swap of the head or, if nothing was written, by
 * a read.
 */
export class Sequencer {
  readonly #monotonic: () => number;
  readonly #after: (ms: number, run: () => void) => () => void;
  readonly #random: () => number;
  readonly #defer: (work: () => void) => void;
  readonly #refusal: () => Fault | undefined;
  readonly #onError: (error: unknown) => void;
  readonly #onCommit: NonNullable<SequencerOptions["onCommit"]>;
  readonly #state: State;
  readonly #committer: Committer;
  readonly #turns: Turns;
  readonly #queue: Queue<Job>;
  /** Batches in progress, in order. The second expects the head that the first leaves, so both fail together. */
  #flights: Flight[] = [];
  /** Wakes the loop: a batch has landed, or enough commands wait for another batch. */
  #wake: () => void = () => {};
  #running: Promise<void> | null = null;
  #closed = false;

  constructor(options: SequencerOptions) {
    const { journal, monotonic, after, random, defer, refusal, onError, onSend, onCommit } = options;
    this.#monotonic = monotonic ?? (() => performance.now());
    this.#after = after ?? later;
    this.#random = random ?? Math.random;
    this.#defer = defer ?? setImmediate;
    this.#refusal = refusal ?? (() => undefined);
    this.#onError = onError ?? (() => {});
    this.#onCommit = onCommit ?? (() => {});
    this.#state = new State(options, this.#monotonic);
    this.#turns = new Turns({ journal, state: this.#state, monotonic: this.#monotonic, after: this.#after });
    this.#committer = new Committer({
      journal,
      state: this.#state,
      monotonic: this.#monotonic,
      pause: (ms) => this.#pause(ms),
      onSend: onSend ?? (() => {}),
    });
    this.#queue = new Queue({
      monotonic: this.#monotonic,
      after: this.#after,
      onLate: (job, isStuck) => job.reject(this.#refusal() ?? overloaded(isStuck ? "unconfirmed" : "busy")),
    });
  }

  get queueLength(): number {
    return this.#queue.length;
  }

  /**
   * Resolves after the commit.
   * @throws Fault the command's own Fault, or `refusal`'s; OVERLOADED (never executed); DATABASE_UNAVAILABLE (not
   * executed); OUTCOME_UNKNOWN (it may be stored; a retry with the same Idempotency-Key tells).
   */
  submit<C extends Command>(submission: Submission<C>): Promise<Submitted<C>> {
    const refused = this.#closed ? shuttingDown() : (this.#refusal() ?? (this.#queue.isFull && overloaded("busy")));
    if (refused) return Promise.reject(refused);
    return new Promise<Submitted<C>>((resolve, reject) => {
      const job = { ...submission, enqueuedAt: this.#monotonic(), resolve, reject };
      this.#queue.push(job as unknown as Job);
      if (!this.#running) this.#running = this.#run();
      // Runs after the other callers in this turn of the event loop, which belong to the same batch.
      else if (this.#maySendSecond()) this.#defer(this.#wake);
    });
  }

  /** Finishes queued commands and refuses later ones. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
    this.#turns.end();
    await new Promise<void>((resolve) => this.#defer(resolve));
  }

  async #run(): Promise<void> {
    // All callers in this turn of the event loop belong to the first batch.
    await new Promise<void>((resolve) => this.#defer(resolve));
    while (this.#queue.length > 0 || this.#flights.length > 0) {
      const [first] = this.#flights;
      if (!first) await this.#sendFirst();
      else if (first.state !== "under way") await this.#recover();
      else if (this.#maySendSecond()) await this.#sendSecond(this.#queue.take(), first);
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
    this.#turns.rest();
    // In the same turn of the event loop as the check of the queue: otherwise a command that came in between would wait for ever.
    this.#running = null;
  }

  async #sendFirst(): Promise<void> {
    if (this.#committer.isInDoubt) return this.#process(this.#queue.take());
    const isTurn = await this.#turns.begin();
    await this.#sendAlone(this.#queue.take(), isTurn);
  }

  async #sendAlone(jobs: Job[], isTurn: boolean): Promise<void> {
    if (jobs.length === 0) return;
    if (!isTurn) return this.#process(jobs, () => this.#commitLocked(jobs));
    try {
      await this.#launch(jobs);
    } catch (error) {
      await this.#process(jobs, () => Promise.reject(error));
    }
  }

  /** Whether a second batch is worth sending: a batch has a high fixed cost, so it should be as large as the first. */
  #maySendSecond(): boolean {
    const [first, second] = this.#flights;
    const { next } = this.#queue;
    if (!first || second || !next || this.#queue.length < first.jobs.length) return false;
    return first.mayBeFollowed && !needsOwnBatch(next.command) && this.#state.isFresh && !this.#turns.isOver;
  }

  /** Executes a batch on the state that the first will leave, and sends it behind the first. */
  async #sendSecond(jobs: Job[], first: Flight): Promise<void> {
    if (jobs.length === 0) return;
    let failure: { error: unknown } | undefined;
    const missing = this.#state.missing(jobs);
    if (missing.some(awaitsCommit)) await first.landed;
    else
      await this.#state.load(missing).catch(async (error: unknown) => {
        failure = { error };
        await first.landed;
      });
    if (first.state === "under way") this.#send(jobs);
    else if (first.state !== "swapped") this.#queue.putBack(jobs);
    else if (failure) await this.#process(jobs, () => Promise.reject(failure?.error));
    else await this.#sendAlone(jobs, true);
  }

  /** One round trip if every row is in memory. */
  async #launch(jobs: Job[]): Promise<Flight> {
    await this.#state.refresh();
    await this.#state.load(this.#state.missing(jobs));
    return this.#send(jobs);
  }

  #send(jobs: Job[]): Flight {
    const { head } = this.#state;
    const prepared = this.#state.prepare(jobs);
    const answer = this.#committer.send(prepared, head);
    this.#state.advance(prepared);
    const mayBeFollowed = canBeFollowed({ jobs, prepared });
    const flight: Flight = { jobs, prepared, mayBeFollowed, state: "under way", landed: Promise.resolve() };
    flight.landed = this.#land(flight, answer);
    this.#flights.push(flight);
    return flight;
  }

  /** Answers callers in order, and only once all earlier batches are stored. */
  async #land(flight: Flight, answer: Promise<boolean>): Promise<void> {
    try {
      flight.state = (await answer) ? "swapped" : "moved";
    } catch (error) {
      flight.error = error;
      flight.state = leftNothing(error) || !acknowledges(flight.prepared) ? "failed" : "unknown";
      if (flight.state === "unknown") this.#committer.doubt();
    }
    while (this.#flights[0]?.state === "swapped") this.#acknowledge(this.#flights.shift() as Flight);
    this.#wake();
  }

  /**
   * The first batch in progress did not swap the head, so the second may have failed with it. Once both have ended, the batches
   * that were stored anyway are answered. The first that was not starts again, and later commands return to the queue.
   */
  async #recover(): Promise<void> {
    const flights = this.#flights;
    await Promise.all(flights.map(({ landed }) => landed));
    this.#flights = [];
    for (const [index, flight] of flights.entries()) {
      const standing = this.#stands(flight);
      if (await standing.catch(() => false)) {
        this.#acknowledge(flight);
        continue;
      }
      this.#takeBack(flights.slice(index));
      const mayBeIn = ({ state }: Flight) => state === "swapped" || state === "unknown";
      for (const behind of flights.slice(index + 1)) {
        if (mayBeIn(flight) && mayBeIn(behind)) await this.#process(behind.jobs, () => standing);
        else this.#queue.putBack(behind.jobs);
      }
      return this.#process(flight.jobs, () => standing);
    }
  }

  /**
   * Whether a batch was stored whose statement has ended.
   * @throws the statement's error
   */
  async #stands(flight: Flight): Promise<boolean> {
    const { state, error, prepared } = flight;
    if (state === "failed") throw error;
    if (state === "moved") this.#turns.lost();
    if (state !== "unknown") return state === "swapped";
    const isIn = await this.#committer.isIn(prepared.batch);
    flight.state = isIn ? "swapped" : "failed";
    // Executing the batch again would cause the same error again.
    if (!isIn && !(error instanceof Unconfirmed)) throw error;
    return isIn;
  }

  /** Withdraws batches that were not stored from memory; after anything except a lost swap, clears all of memory. */
  #takeBack(flights: Flight[]): void {
    if (flights.every(({ state }) => state === "moved")) this.#state.withdraw(flights.map(({ prepared }) => prepared));
    else this.#state.forget();
  }

  /** Tries until the callers have their answers, with nothing else in progress. */
  async #process(jobs: Job[], firstAttempt = () => this.#attempt(jobs, 0)): Promise<void> {
    if (jobs.length === 0) return;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      try {
        if (await (attempt === 0 ? firstAttempt() : this.#attempt(jobs, attempt))) return;
      } catch (error) {
        this.#state.forget();
        if (error instanceof StatementFailed && (attempt === 0 || error.isConflict)) {
          await this.#pause(this.#random() * RETRY_PAUSE_MS * 2 ** attempt);
          continue;
        }
        if (error instanceof StatementFailed && error.isAboutData && jobs.length > 1) return this.#bisect(jobs);
        this.#onError(error);
        for (const job of jobs) job.reject(faultOf(error, this.#refusal()));
        return;
      }
    }
    for (const job of jobs) job.reject(overloaded("given up"));
  }

  /** If the database rejects a batch because of its data, halving finds the faulty command, and the others are committed. */
  async #bisect(jobs: Job[]): Promise<void> {
    const middle = jobs.length >> 1;
    await this.#process(jobs.slice(0, middle));
    await this.#process(jobs.slice(middle));
  }

  /** False if the head had moved, or if a batch with an unknown outcome was not stored. */
  async #attempt(jobs: Job[], attempt: number): Promise<boolean> {
    await this.#committer.fenceIfNeeded();
    // A turn does not stop a process that believes it is alone; the lock on the head does.
    if (attempt >= LOCKED_FROM || !(await this.#turns.begin())) return this.#commitLocked(jobs);
    const flight = await this.#launch(jobs);
    await flight.landed;
    if (flight.state === "swapped") return true;
    this.#flights = [];
    const isIn = await this.#stands(flight);
    if (isIn) this.#acknowledge(flight);
    else this.#takeBack([flight]);
    return isIn;
  }

  /** Locks the head row first, so no other process overtakes: two busy processes both make progress. */
  async #commitLocked(jobs: Job[]): Promise<boolean> {
    const prepared = await this.#committer.commitLocked(jobs);
    if (prepared) this.#acknowledge({ jobs, prepared });
    return prepared !== null;
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.#after(ms, resolve));
  }

  #acknowledge({ jobs, prepared: { outcomes, batch } }: Pick<Flight, "jobs" | "prepared">): void {
    // The next batch goes to the database first: it need not wait for what callers do with their answers.
    this.#defer(() => settle(jobs, outcomes));
    if (batch) {
      const { audit, expected: before, next: head } = batch;
      this.#onCommit({ commands: jobs.length, entries: audit.length, before, head });
    }
  }
}
