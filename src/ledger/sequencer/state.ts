import type { AuditKey } from "../../domain/audit/seal.ts";
import { invariant } from "../../domain/fault.ts";
import { RowMap } from "../../engine/row-map.ts";
import type { Need } from "../../engine/rows.ts";
import { type Head, sameHead } from "../commit.ts";
import type { HeadReading, Journal } from "../journal.ts";
import type { Loaded } from "../load.ts";
import { needsOfSubmission, type Prepared, prepareBatch, type Submission } from "./batch.ts";
import { DatabaseClock } from "./database-clock.ts";
import { Memory } from "./memory.ts";
import type { SequencerOptions } from "./options.ts";

/**
 * This process's view of the database: its rows, head and clock, each as the last batch sent will leave them. Commits
 * are accepted only on top of that head, so a wrong view costs only a lost swap.
 */
export class State {
  readonly #journal: Journal;
  readonly #keys: { key: AuditKey; keys: readonly AuditKey[] };
  readonly #clock: DatabaseClock;
  readonly #memory = new Memory();
  #head: Head | null = null;
  /** The head has moved, so it is read before the next batch is prepared. */
  #moved = false;

  constructor({ journal, auditKey: key, auditKeys: keys = [key] }: SequencerOptions, monotonic: () => number) {
    this.#journal = journal;
    this.#keys = { key, keys };
    this.#clock = new DatabaseClock(monotonic);
  }

  /** Null if the head is unknown. */
  get head(): Head | null {
    return this.#head;
  }

  /** Whether the next batch can be prepared without reading the head or clearing memory. */
  get isFresh(): boolean {
    return this.#head !== null && !this.#moved && !this.#clock.isStale && !this.#memory.isFull;
  }

  observe(now: number): void {
    this.#clock.observe(now);
  }

  /** Prepares for a first batch. Memory is used only if no other process has written. */
  async refresh(): Promise<void> {
    if (this.#memory.isFull) this.#memory.forget();
    if (!this.isFresh) await this.catchUp(await this.#journal.readHead());
  }

  /**
   * Adopts a reading, whatever other processes have written. Rows changed by their trades are read again, unless they
   * came with the reading; after any other change memory is cleared. Returns whether no other process has written.
   */
  async catchUp({ head, now }: HeadReading, read?: Loaded[] | null): Promise<boolean> {
    this.#clock.observe(now);
    const known = this.#head;
    const stands = known !== null && sameHead(known, head);
    if (!stands) {
      // A quiet batch raises the epoch, and no entry says what it wrote.
      const follows = known?.epoch === head.epoch;
      const touched = !follows ? null : read === undefined ? await this.#journal.loadTouched(known) : read;
      if (touched) this.#memory.follow(touched);
      else this.#memory.forget();
    }
    this.#head = head;
    this.#moved = false;
    return stands;
  }

  /** Withdraws batches that another process's writes have overtaken: the first that was not stored and all after it. */
  withdraw(overtaken: readonly Prepared[]): void {
    for (const { batch } of overtaken) this.#memory.withdraw(batch?.writes ?? []);
    const first = overtaken.find(({ batch }) => batch)?.batch;
    if (first) this.#head = first.expected;
    this.#moved = true;
  }

  /** Adopts the epoch of this process's own fence, which changes nothing else. */
  fenced({ head: { epoch }, now }: HeadReading): void {
    if (this.#head) this.#head = { ...this.#head, epoch };
    this.#clock.observe(now);
  }

  /** The rows that the submissions need and memory lacks, each once. */
  missing(submissions: readonly Submission[]): Need[] {
    const missing = new RowMap<Need>();
    for (const submission of submissions)
      for (const need of needsOfSubmission(submission))
        if (!this.#memory.knows(need)) missing.set(need.table, need.key, need);
    return [...missing.values()];
  }

  /** @param missing the result of `missing` */
  async load(missing: Need[]): Promise<void> {
    if (missing.length > 0) this.#memory.learn(await this.#journal.load(missing));
  }

  /** Executes the submissions, whose rows are already loaded. */
  prepare(submissions: readonly Submission[]): Prepared {
    invariant(this.#head, "a batch is prepared on a known head");
    return prepareBatch(this.#memory, submissions, { head: this.#head, now: this.#clock.now(), ...this.#keys });
  }

  /** Adopts the state that the batch will leave. Call it after creating the statement, because the rows' versions rise. */
  advance({ batch }: Prepared): void {
    this.#memory.publish(batch?.writes ?? []);
    if (batch) this.#head = batch.next;
  }

  forget(): void {
    this.#memory.forget();
    this.#head = null;
  }
}
