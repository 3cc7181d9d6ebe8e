import type { ChainPoint } from "../../domain/audit/audit-link.ts";
import type { ChainBreak, WalkOptions } from "../../domain/audit/chain-walk.ts";
import { GENESIS } from "../../domain/audit/chain-walk.ts";
import type { AuditKey } from "../../domain/audit/seal.ts";
import type { Reader } from "../../postgres/pool.ts";
import { readLog } from "../../queries/evidence.ts";
import { verifySpan } from "../audit/audit-verifier.ts";
import type { Evidence } from "./evidence.ts";

export interface VouchedHeadOptions {
  reader: Reader;
  keys: readonly AuditKey[];
  evidence: Evidence;
  /** Awaited after each page of entries, so that a long way is gone slowly. */
  onPage?: WalkOptions["onPage"];
}

/** Commits that may come in while entries are verified, and need no second look. */
const OWN_HEADS = 1000;

/**
 * How far this process may sign for the log: it has computed every seal itself, from the newest anchor that the log
 * holds on. A head row alone says nothing, since an intruder who can write to the database can move it to a row of
 * their own.
 */
export class VouchedHead {
  readonly #options: VouchedHeadOptions;
  #point: ChainPoint | undefined;
  /**
   * The heads that this process has made, each of entries sealed onto the one before; empty once it vouches for them.
   */
  #own: ChainPoint[] = [];
  #problem: ChainBreak | undefined;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(options: VouchedHeadOptions) {
    this.#options = options;
  }

  /** What keeps this process from signing; undefined when the last attempt went well. */
  get problem(): ChainBreak | undefined {
    return this.#problem;
  }

  /** Whether the log was computed up to exactly this entry. */
  isAt(point: ChainPoint): boolean {
    return isSame(this.#point, point);
  }

  /** Entries that this process has sealed onto `from` and committed: their seals were computed as they were made. */
  sealed(from: ChainPoint, to: ChainPoint): void {
    const last = this.#own.at(-1);
    this.#own = last && isSame(last, from) ? [...this.#own.slice(-OWN_HEADS), to] : [from, to];
    this.#takeOwn();
  }

  /**
   * Computes what is missing up to an entry.
   * @returns false for one that does not hold
   */
  async vouch(head: ChainPoint): Promise<boolean> {
    if (!this.isAt(head)) return this.#alone(() => this.#follow(head));
    this.#problem = undefined;
    return true;
  }

  /** Whether an entry, however old, is one of the log that this process vouches for. */
  async holds(entry: ChainPoint): Promise<boolean> {
    if (!this.#point || entry.seq > this.#point.seq) return this.vouch(entry);
    return this.#leadsTo(entry, this.#point);
  }

  /** Whether the chain goes from an entry to a later one, which the process vouches for. */
  async #leadsTo(from: ChainPoint, head: ChainPoint): Promise<boolean> {
    const { reader, keys, onPage } = this.#options;
    return (await verifySpan(reader, keys, { from, head, onPage })).broken === undefined;
  }

  async #follow(head: ChainPoint): Promise<boolean> {
    const { reader, keys, onPage } = this.#options;
    if (!this.isAt(head)) {
      const from = await this.#beginning(head);
      // What a look finds is told as it is, and what this process knows of a log that was set back stays known.
      if (!from) return false;
      if (from.seq > head.seq) return this.#leadsTo(head, from);
      const { end, broken } = await verifySpan(reader, keys, { from, head, onPage });
      if (!this.#point || end.seq > this.#point.seq) this.#point = end;
      this.#takeOwn();
      this.#problem = broken;
      return broken === undefined;
    }
    this.#problem = undefined;
    return true;
  }

  /**
   * The entry that the process has come to, or, where the log went on without it, the newest anchor that the log holds;
   * none while a look finds a problem.
   */
  async #beginning(head: ChainPoint): Promise<ChainPoint | undefined> {
    const { reader, evidence } = this.#options;
    const point = this.#point;
    if (point) {
      const { hashes } = await reader.read((sql) => readLog(sql, [point]));
      if (point.seq === 0n || hashes.get(point.seq) === point.hash) return this.#point ?? point;
    }
    const { kept, log, problem } = await evidence.look();
    if (problem) return undefined;
    if (point) {
      this.#point = undefined;
      this.#own = [];
    }
    return kept
      .filter(({ seq, hash }) => seq <= head.seq && log.hashes.get(seq) === hash)
      .reduce<ChainPoint>((high, each) => (each.seq > high.seq ? each : high), GENESIS);
  }

  #takeOwn(): void {
    if (!this.#own.some((head) => isSame(this.#point, head))) return;
    this.#point = this.#own.at(-1);
    this.#own = [];
  }

  /** One after the other: two at once would go the same way twice. */
  #alone<Value>(work: () => Promise<Value>): Promise<Value> {
    const result = this.#queue.then(work);
    this.#queue = result.catch(() => undefined);
    return result;
  }
}

function isSame(one: ChainPoint | undefined, other: ChainPoint): boolean {
  return one?.seq === other.seq && one.hash === other.hash;
}
