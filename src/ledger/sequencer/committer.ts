import { Unconfirmed } from "../../postgres/connect.ts";
import { type Batch, type Head, sameHead } from "../commit.ts";
import type { HeadReading, Journal } from "../journal.ts";
import { acknowledges, isQuiet, type Prepared, type Submission } from "./batch.ts";
import { leftNothing, outcomeUnknown } from "./faults.ts";
import type { State } from "./state.ts";

/** How long a batch with an unknown outcome waits for the database before its callers get an error. */
const MAX_UNKNOWN_MS = 8000;

interface CommitterOptions {
  journal: Journal;
  state: State;
  monotonic: () => number;
  pause: (ms: number) => Promise<void>;
  onSend: (batch: Batch) => void;
}

/** Sends batches to the journal, and finds out their outcomes. */
export class Committer {
  readonly #journal: Journal;
  readonly #state: State;
  readonly #monotonic: () => number;
  readonly #pause: (ms: number) => Promise<void>;
  readonly #onSend: (batch: Batch) => void;
  /** A statement with an unknown outcome may still be running, so the fence comes first. */
  #unfenced = false;

  constructor({ journal, state, monotonic, pause, onSend }: CommitterOptions) {
    this.#journal = journal;
    this.#state = state;
    this.#monotonic = monotonic;
    this.#pause = pause;
    this.#onSend = onSend;
  }

  get isInDoubt(): boolean {
    return this.#unfenced;
  }

  /** A statement's outcome is unknown: nothing else is sent before the fence. */
  doubt(): void {
    this.#unfenced = true;
  }

  /** Swaps the head for the batch, or confirms the head if there is nothing to write. False if the head had moved. */
  send(prepared: Prepared, head: Head | null): Promise<boolean> {
    return prepared.batch ? this.#commit(prepared.batch) : this.#unmoved(head, prepared);
  }

  /** Commits with the head row locked, so that no other process overtakes. Null if the batch must start again. */
  async commitLocked(submissions: readonly Submission[]): Promise<Prepared | null> {
    const sent: { prepared?: Prepared; swapped?: boolean } = {};
    const work = async (reading: HeadReading): Promise<boolean> => {
      await this.#state.catchUp(reading);
      await this.#state.load(this.#state.missing(submissions));
      sent.prepared = this.#state.prepare(submissions);
      // Reads again: if the connection died since, the lock is silently gone.
      if (!sent.prepared.batch) return this.#unmoved(reading.head, sent.prepared);
      const answer = this.#commit(sent.prepared.batch);
      this.#state.advance(sent.prepared);
      sent.swapped = await answer;
      return sent.swapped;
    };
    let confirmed: boolean;
    try {
      confirmed = await this.#journal.exclusively(work);
      // If a transaction died with its connection, the next connection reports success for its commit, so this reads.
      if (sent.swapped && sent.prepared?.batch) confirmed = await this.#remains(sent.prepared.batch);
    } catch (error) {
      // After a swap, even a database error does not prove that nothing was written: outside its transaction, the
      // statement was a commit by itself.
      if (!sent.prepared || (leftNothing(error) && !sent.swapped)) throw error;
      this.doubt();
      confirmed = await this.isIn(sent.prepared.batch);
      if (!confirmed && !(error instanceof Unconfirmed)) throw error;
    }
    if (!confirmed) this.#state.forget();
    return confirmed && sent.prepared ? sent.prepared : null;
  }

  async #commit(batch: Batch): Promise<boolean> {
    this.#onSend(batch);
    const { swapped, now } = await this.#journal.commit(batch);
    this.#state.observe(now);
    return swapped;
  }

  /**
   * Without writes, the answers are valid if the head is still the expected one. An error may depend on data that only
   * this server has. An acknowledgement, such as a repeated earlier answer, is confirmed by a write.
   */
  async #unmoved(head: Head | null, answers?: Prepared): Promise<boolean> {
    const confirms = answers && acknowledges(answers);
    const reading = await (confirms ? this.#journal.confirmHead() : this.#journal.readHead());
    this.#state.observe(reading.now);
    return head !== null && sameHead(head, reading.head);
  }

  /** Whether a batch is stored, after a successful commit. A quiet batch is stored if no other process has written since. */
  async #remains(batch: Batch): Promise<boolean> {
    return isQuiet(batch) ? this.#unmoved(batch.next) : this.#journal.contains(batch.next);
  }

  /**
   * Fences, then reads. The fence raises the head's epoch: it waits for statements of the lost connection that still
   * run, and shuts out later ones. As a write, it is confirmed only with everything before it. Then the chain shows
   * definitely whether the batch is stored. Until both have answered, the batch must not run again, whatever delays
   * them. A quiet batch (or none) runs again in any case: its commands then find their rows.
   */
  async isIn(batch: Batch | null): Promise<boolean> {
    const deadline = this.#monotonic() + MAX_UNKNOWN_MS;
    for (let pause = 20; ; pause = Math.min(pause * 2, 500)) {
      try {
        await this.fenceIfNeeded();
        return batch !== null && !isQuiet(batch) && (await this.#journal.contains(batch.next));
      } catch (cause) {
        if (this.#monotonic() >= deadline) throw outcomeUnknown(cause);
        await this.#pause(pause);
      }
    }
  }

  async fenceIfNeeded(): Promise<void> {
    if (!this.#unfenced) return;
    this.#state.fenced(await this.#journal.fence());
    this.#unfenced = false;
  }
}
