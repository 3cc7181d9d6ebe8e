import { Unconfirmed } from "../../postgres/connect.ts";
import { type Batch, type Head, sameHead } from "../commit.ts";
import type { HeadReading, Journal } from "../journal.ts";
import { acknowledges, isQuiet, type Prepared, type Submission } from "./batch.ts";
import { leftNothing, outcomeUnknown } from "./faults.ts";
import type { State } from "./state.ts";

/** How long a batch whose outcome is unknown waits for the database before its callers are told so. */
const MAX_UNKNOWN_MS = 8000;

interface CommitterOptions {
  journal: Journal;
  state: State;
  monotonic: () => number;
  pause: (ms: number) => Promise<void>;
  onSend: (batch: Batch) => void;
}

/** Takes batches to the journal, and finds out what became of them. */
export class Committer {
  readonly #journal: Journal;
  readonly #state: State;
  readonly #monotonic: () => number;
  readonly #pause: (ms: number) => Promise<void>;
  readonly #onSend: (batch: Batch) => void;
  /** A statement of unknown outcome may still be under way, so the fence goes first. */
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

  /** Swaps the head for the batch, or confirms it when there is nothing to write. False when it had moved. */
  send(prepared: Prepared, head: Head | null): Promise<boolean> {
    return prepared.batch ? this.#commit(prepared.batch) : this.#unmoved(head, prepared);
  }

  /** Commits with the head row locked, so that no other process overtakes. Null when the batch has to start anew. */
  async commitLocked(submissions: readonly Submission[]): Promise<Prepared | null> {
    const sent: { prepared?: Prepared; swapped?: boolean } = {};
    const work = async (reading: HeadReading): Promise<boolean> => {
      await this.#state.catchUp(reading);
      await this.#state.load(this.#state.missing(submissions));
      sent.prepared = this.#state.prepare(submissions);
      // Read again even here: the lock is gone, unnoticed, if the connection died since it was asked for.
      if (!sent.prepared.batch) return this.#unmoved(reading.head, sent.prepared);
      const answer = this.#commit(sent.prepared.batch);
      this.#state.advance(sent.prepared);
      sent.swapped = await answer;
      return sent.swapped;
    };
    let confirmed: boolean;
    try {
      confirmed = await this.#journal.exclusively(work);
      // The commit of a transaction that died with its connection reports success on the next one, hence the read.
      if (sent.swapped && sent.prepared?.batch) confirmed = await this.#remains(sent.prepared.batch);
    } catch (error) {
      // After a swap not even the database's error proves that nothing was written: without its transaction the statement
      // was a commit by itself.
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
   * Nothing to write: the answers hold if the head is still where the state says. A refusal may rest on what only this
   * server has; an acknowledgement, such as a replay of what an earlier attempt wrote, is confirmed by a write.
   */
  async #unmoved(head: Head | null, answers?: Prepared): Promise<boolean> {
    const confirms = answers && acknowledges(answers);
    const reading = await (confirms ? this.#journal.confirmHead() : this.#journal.readHead());
    this.#state.observe(reading.now);
    return head !== null && sameHead(head, reading.head);
  }

  /** Whether a batch is in, after a commit that said so. A quiet one is in if no other process has written since. */
  async #remains(batch: Batch): Promise<boolean> {
    return isQuiet(batch) ? this.#unmoved(batch.next) : this.#journal.contains(batch.next);
  }

  /**
   * Fence, then read. The fence raises the head's epoch: it waits for whatever the lost connection still has under way and
   * shuts it out; a write itself, it is confirmed only with everything before it. After it the chain says exactly whether
   * the batch is in, and for good. Until both have answered the batch must not be executed again, whatever it is that keeps them from
   * answering. A quiet batch, or none, is executed again in any case: then its commands find what they left.
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
