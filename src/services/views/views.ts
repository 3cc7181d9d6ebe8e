import type { Batch, Head } from "../../ledger/commit.ts";
import type { Reader } from "../../postgres/pool.ts";
import { readHead } from "../../queries/evidence.ts";
import { shareReads } from "../read-batch.ts";
import { KnownHeads } from "./known-heads.ts";
import { Shelf, type View } from "./shelf.ts";
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

/** A view with the type of its result. */
type ViewOf<Result> = View & { readonly result: Result };

/**
 * Answers kept in memory that are never stale. All questions that were asked before a query is sent ask the database one
 * thing, where the log ends and what time it is; an answer in memory is given when no commit up to that head touched it.
 * Every write of any process moves the head, so no answer shows less than what was acknowledged before its question.
 */
export class Views {
  readonly #maxBytes: number;
  readonly #heads = new KnownHeads();
  readonly #shelf: Shelf;
  readonly #look: () => Promise<Reading>;
  /** The database's clock as it was read last. */
  #clock = 0;

  constructor({ reader, maxBytes }: ViewsOptions) {
    this.#maxBytes = maxBytes;
    this.#shelf = new Shelf(maxBytes);
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
    const views = new Map<string, ViewOf<Result>>();
    return async (question) => {
      const key = keyOf(question);
      if (this.#mayHold(views.get(key))) {
        const reading = await this.#look();
        const view = views.get(key);
        if (view && holds(view, reading)) {
          this.#shelf.use(view);
          return view.result;
        }
      }
      // The query starts from here on, so it shows at least what is known to be committed.
      const position = this.#heads.seen;
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
    const touched = touchedBy(batch);
    const { position, follows } = this.#heads.send(keyOfHead(batch.expected), keyOfHead(batch.next), touched);
    if (follows) this.#shelf.touch(touched, position);
    else this.#shelf.clear();
  }

  /** A commit of this process was acknowledged. */
  committed(head: Head): void {
    this.#heads.acknowledge(keyOfHead(head));
  }

  /** Whether it is worth asking where the log ends: without a head nothing can be kept, and a touched view is of no use. */
  #mayHold(view: View | undefined): boolean {
    const { seen } = this.#heads;
    if (seen === undefined) return this.#maxBytes > 0;
    return view !== undefined && view.touchedAt > seen;
  }

  async #read(reader: Reader): Promise<Reading> {
    const { seen } = this.#heads;
    const { head, now } = await reader.read(readHead);
    const { position, follows } = this.#heads.read(keyOfHead(head), seen);
    if (!follows) this.#shelf.clear();
    this.#clock = now;
    return { position, now };
  }

  #put<Result extends object>(
    views: Map<string, ViewOf<Result>>,
    key: string,
    loaded: Loaded<Result>,
    position: number,
    from: number,
  ): void {
    const { result, tags, until } = loaded;
    const before = views.get(key);
    // Callers that shared the load have kept it already.
    if (before?.result === result || until <= from || !this.#heads.untouchedSince(position, tags)) return;
    if (before) this.#shelf.remove(before);
    const remove = () => views.delete(key);
    const weight = weightOf(result) + weightOf(tags) + weightOf(key);
    const view = { result, tags, position, touchedAt: Number.POSITIVE_INFINITY, from, until, weight, remove };
    views.set(key, view);
    this.#shelf.add(view);
  }
}

/** Where the log ended and what time it was, after the questions that asked for it. */
interface Reading {
  position: number;
  now: number;
}

function holds({ touchedAt, from, until }: View, { position, now }: Reading): boolean {
  return position < touchedAt && from <= now && now < until;
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
