import type { Batch, Head } from "../../ledger/commit.ts";
import type { Reader } from "../../postgres/pool.ts";
import { readHead } from "../../queries/evidence.ts";
import { shareReads } from "../read-batch.ts";
import { CommitOrder } from "./commit-order.ts";
import { touchedBy } from "./touched.ts";

/** A fresh answer, and how long it holds. */
export interface Loaded<Result extends object> {
  result: Result;
  /** Names of what it shows (`touched.ts`). */
  tags: readonly string[];
  /** The instant of the database's clock at which time alone changes it: `Infinity` for never, 0 not to keep it. */
  until: number;
}

/** Bytes of answers that a tenant's server keeps. */
export const VIEW_BYTES = 16 * 1024 * 1024;

export interface ViewsOptions {
  reader: Reader;
  /** Bound of what is kept, in estimated bytes; 0 keeps nothing, for a process that ends soon. */
  maxBytes: number;
}

/** Views kept at the most, however small they are. */
const MAX_VIEWS = 20_000;

/** An answer that is kept in memory, `result` always as the same object, so that what is derived from it can be kept beside it. */
interface View<Result = object> extends Loaded<Result & object> {
  /** The answer is of this position in the order of commits, or of a later one. */
  position: number;
  /** The database's clock at the earliest: at another time it has been set back. */
  from: number;
  /** Estimated, in bytes. */
  weight: number;
  /** Takes it out of the map that it is found by. */
  remove: () => void;
}

/**
 * Answers kept in memory that are never stale. All questions that were asked before a query is sent ask the database one
 * thing, where the log ends and what time it is; an answer in memory is given when no commit up to that head touched it.
 * Every write of any process moves the head, so no answer shows less than what was acknowledged before its question.
 */
export class Views {
  readonly #maxBytes: number;
  readonly #commits = new CommitOrder();
  /** The least recently used first. */
  readonly #views = new Set<View>();
  #bytes = 0;
  /** Reads where the log ends, for all who ask at one moment. */
  readonly #look: () => Promise<void>;
  /** The database's clock as it was read last. */
  #clock = 0;

  constructor({ reader, maxBytes }: ViewsOptions) {
    this.#maxBytes = maxBytes;
    const look = shareReads(
      () => "head",
      () => this.#read(reader),
      // Requests that have arrived together are handled one after the other, and share one query if it waits for them.
      () => new Promise(setImmediate),
    );
    this.#look = () => look(undefined);
  }

  /**
   * Puts memory before a question to the database.
   * @param keyOf names the question among those of its kind
   * @param load asks the database, by a query that starts after the call
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
      // The query starts from here on, so it shows at least what is known to be committed.
      const position = this.#commits.seen;
      const from = this.#clock;
      const loaded = await load(question);
      if (position !== undefined) this.#put(views, key, loaded, position, from);
      return loaded.result;
    };
  }

  /** As `keep`, for answers that are loaded one by one: equal questions share a load. */
  share<Question, Result extends object>(
    keyOf: (question: Question) => string,
    load: (question: Question) => Promise<Loaded<Result>>,
  ): (question: Question) => Promise<Result> {
    return this.keep(keyOf, shareReads(keyOf, load));
  }

  /** A batch is about to be sent: what it touches does not hold beyond it. */
  sent(batch: Batch): void {
    if (this.#maxBytes === 0) return;
    if (!this.#commits.send(keyOfHead(batch.expected), keyOfHead(batch.next), touchedBy(batch))) this.#clear();
  }

  /** A commit of this process was acknowledged. */
  committed(head: Head): void {
    this.#commits.acknowledge(keyOfHead(head));
  }

  /** Whether it is worth asking where the log ends: without a head nothing can be kept, and a touched view is of no use. */
  #mayHold(view: View | undefined): boolean {
    if (this.#commits.seen === undefined) return this.#maxBytes > 0;
    return view !== undefined && this.#isUntouched(view);
  }

  #isUntouched(view: View): boolean {
    if (!this.#commits.untouchedSince(view.position, view.tags)) return false;
    // The answer holds there too, so its tags, hundreds in a large portfolio, are looked up once a commit and not at each read.
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
    // Callers that shared the load have kept it already.
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

/** What an object, a field or a number takes, roughly. */
const SLOT_BYTES = 24;
/** A text and what is made of the answer: its wire form, its text and its bytes. */
const CHARACTER_BYTES = 4;

/** An estimate of the memory that a plain value takes with what is derived from it, in bytes. */
export function weightOf(value: unknown): number {
  if (typeof value === "string") return SLOT_BYTES + value.length * CHARACTER_BYTES;
  if (typeof value !== "object" || value === null) return SLOT_BYTES;
  return Object.values(value).reduce((sum: number, each) => sum + weightOf(each), 4 * SLOT_BYTES);
}
