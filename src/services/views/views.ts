import type { Batch, Head } from "../../ledger/commit.ts";
import type { Reader } from "../../postgres/pool.ts";
import { readHead } from "../../queries/evidence.ts";
import { shareReads } from "../read-batch.ts";
import { CommitOrder } from "./commit-order.ts";
import { touchedBy } from "./touched.ts";

/** A fresh answer, and how long it is valid. */
export interface Loaded<Result extends object> {
  result: Result;
  /** The tags of everything that it shows (`touched.ts`). */
  tags: readonly string[];
  /** The instant of the database's clock at which time alone changes it: `Infinity` for never, 0 for an answer that is not kept. */
  until: number;
}

/** The bytes of answers that a tenant's server keeps. */
export const VIEW_BYTES = 16 * 1024 * 1024;

export interface ViewsOptions {
  reader: Reader;
  /** The most estimated bytes to keep; 0 keeps nothing, for a process that ends soon. */
  maxBytes: number;
}

/** The most views to keep, however small they are. */
const MAX_VIEWS = 20_000;

/** An answer kept in memory. `result` is always the same object, so that derived forms can be kept with it. */
interface View<Result = object> extends Loaded<Result & object> {
  /** The answer shows this position in the order of commits, or a later one. */
  position: number;
  /** The earliest time of the database's clock; an earlier clock was set back. */
  from: number;
  /** The estimated size in bytes. */
  weight: number;
  /** Removes the view from its map. */
  remove: () => void;
}

/**
 * Answers kept in memory that are never stale. All questions asked before a query is sent share that query, which reads
 * the log's head and the time. A kept answer is returned if no commit up to that head touched it. Every write of any
 * process moves the head, so no answer misses a change that was acknowledged before the question.
 */
export class Views {
  readonly #maxBytes: number;
  readonly #commits = new CommitOrder();
  /** The least recently used first. */
  readonly #views = new Set<View>();
  #bytes = 0;
  /** Reads the log's head, once for all simultaneous questions. */
  readonly #look: () => Promise<void>;
  /** The database's clock at the last reading. */
  #clock = 0;

  constructor({ reader, maxBytes }: ViewsOptions) {
    this.#maxBytes = maxBytes;
    const look = shareReads(
      () => "head",
      () => this.#read(reader),
      // Requests that arrived together are handled one after the other, and share one query if it waits for them.
      () => new Promise(setImmediate),
    );
    this.#look = () => look(undefined);
  }

  /**
   * Answers questions from memory, or else from the database.
   * @param keyOf names the question among those of its kind
   * @param load queries the database, and must start its query after the call
   */
  keep<Question, Result extends object>(
    keyOf: (question: Question) => string,
    load: (question: Question) => Promise<Loaded<Result>>,
  ): (question: Question) => Promise<Result> {
    const views = new Map<string, View<Result>>();
    return async (question) => {
      const key = keyOf(question);
      if (this.#mayHold(views.get(key))) {
        await this.#look();
        const view = views.get(key);
        if (view && this.#isUntouched(view) && view.from <= this.#clock && this.#clock < view.until) {
          this.#views.delete(view);
          this.#views.add(view);
          return view.result;
        }
      }
      // The query starts after this line, so it shows at least everything known to be committed.
      const position = this.#commits.seen;
      const from = this.#clock;
      const loaded = await load(question);
      if (position !== undefined) this.#put(views, key, loaded, position, from);
      return loaded.result;
    };
  }

  /** Like `keep`, for answers that are loaded one by one: equal questions share a load. */
  share<Question, Result extends object>(
    keyOf: (question: Question) => string,
    load: (question: Question) => Promise<Loaded<Result>>,
  ): (question: Question) => Promise<Result> {
    return this.keep(keyOf, shareReads(keyOf, load));
  }

  /** Call before a batch is sent: views that it touches end with it. */
  sent(batch: Batch): void {
    if (this.#maxBytes === 0) return;
    if (!this.#commits.send(keyOfHead(batch.expected), keyOfHead(batch.next), touchedBy(batch))) this.#clear();
  }

  /** Call when a commit of this process is acknowledged. */
  committed(head: Head): void {
    this.#commits.acknowledge(keyOfHead(head));
  }

  /** Whether reading the head is useful: without a known head nothing can be kept, and a touched view is useless. */
  #mayHold(view: View | undefined): boolean {
    if (this.#commits.seen === undefined) return this.#maxBytes > 0;
    return view !== undefined && this.#isUntouched(view);
  }

  #isUntouched(view: View): boolean {
    if (!this.#commits.untouchedSince(view.position, view.tags)) return false;
    // The answer holds at that position too, so its tags (hundreds in a large portfolio) are checked once a commit.
    view.position = this.#commits.last;
    return true;
  }

  async #read(reader: Reader): Promise<void> {
    const { seen } = this.#commits;
    const { head, now } = await reader.read(readHead);
    if (!this.#commits.read(keyOfHead(head), seen)) this.#clear();
    this.#clock = now;
  }

  #put<Result extends object>(
    views: Map<string, View<Result>>,
    key: string,
    loaded: Loaded<Result>,
    position: number,
    from: number,
  ): void {
    const { result, tags, until } = loaded;
    const before = views.get(key);
    // Callers that shared the load have already kept it.
    if (before?.result === result || until <= from || !this.#commits.untouchedSince(position, tags)) return;
    if (before) this.#remove(before);
    const weight = weightOf(result) + weightOf(tags) + weightOf(key);
    const view = { ...loaded, position, from, weight, remove: () => views.delete(key) };
    views.set(key, view);
    this.#views.add(view);
    this.#bytes += weight;
    for (const oldest of this.#views) {
      if (this.#bytes <= this.#maxBytes && this.#views.size <= MAX_VIEWS) break;
      this.#remove(oldest);
    }
  }

  #remove(view: View): void {
    if (!this.#views.delete(view)) return;
    this.#bytes -= view.weight;
    view.remove();
  }

  #clear(): void {
    for (const view of this.#views) this.#remove(view);
  }
}

function keyOfHead({ seq, hash, epoch }: Pick<Head, "seq" | "hash" | "epoch">): string {
  return `${seq} ${hash} ${epoch}`;
}

/** The approximate size of an object, a field or a number. */
const SLOT_BYTES = 24;
/** The size of a character in all forms of the answer: value, wire form, text and bytes. */
const CHARACTER_BYTES = 4;

/** Estimates the bytes of memory of a plain value and its derived forms. */
export function weightOf(value: unknown): number {
  if (typeof value === "string") return SLOT_BYTES + value.length * CHARACTER_BYTES;
  if (typeof value !== "object" || value === null) return SLOT_BYTES;
  return Object.values(value).reduce((sum: number, each) => sum + weightOf(each), 4 * SLOT_BYTES);
}
