import type { ChainPoint } from "../../domain/audit/audit-link.ts";
import type { ChainBreak, WalkOptions } from "../../domain/audit/chain-walk.ts";
import { GENESIS } from "../../domain/audit/chain-walk.ts";
import type { AuditKey } from "../../domain/audit/seal.ts";
import type { Reader } from "../../postgres/pool.ts";
import { readLog } from "../../queries/evidence.ts";
import { verifySpan } from "../audit/audit-verifier.ts";
import type { Evidence } from "./evidence.ts";

export interface VerifiedHeadOptions {
  reader: Reader;
  keys: readonly AuditKey[];
  evidence: Evidence;
  /** Awaited after each page of entries, so that a long walk leaves time for other work. */
  onPage?: WalkOptions["onPage"];
}

/** How many commits of this process are remembered while it verifies earlier entries. */
const OWN_HEADS = 1000;

/**
 * How far this process may sign for the log: it has computed every seal itself, starting at the newest anchor in the
 * log. A head row alone proves nothing, since an intruder with write access to the database can set it.
 */
export class VerifiedHead {
  readonly #options: VerifiedHeadOptions;
  #point: ChainPoint | undefined;
  /**
   * The heads that this process committed, each sealed onto the previous one; empty once the point has reached them.
   */
  #own: ChainPoint[] = [];
  #problem: ChainBreak | undefined;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(options: VerifiedHeadOptions) {
    this.#options = options;
  }

  /** Why this process cannot sign; undefined if the last attempt succeeded. */
  get problem(): ChainBreak | undefined {
    return this.#problem;
  }

  /** Whether the seals were computed exactly up to this entry. */
  isAt(point: ChainPoint): boolean {
    return isSame(this.#point, point);
  }

  /** Records entries that this process sealed onto `from` and committed; it computed their seals when it made them. */
  sealed(from: ChainPoint, to: ChainPoint): void {
    const last = this.#own.at(-1);
    if (last && isSame(last, from)) this.#own.push(to);
    else this.#own = [from, to];
    if (this.#own.length > 2 * OWN_HEADS) this.#own = this.#own.slice(-OWN_HEADS);
    // No earlier head is the point: each was compared when it was added, or when the point moved.
    if (isSame(this.#point, from) || isSame(this.#point, to)) this.#takeOwn();
  }

  /**
   * Computes the missing seals up to an entry.
   * @returns false if the entry fails verification
   */
  async verify(head: ChainPoint): Promise<boolean> {
    if (!this.isAt(head)) return this.#alone(() => this.#follow(head));
    this.#problem = undefined;
    return true;
  }

  /** Whether an entry of any age belongs to the log that this process has verified. */
  async holds(entry: ChainPoint): Promise<boolean> {
    if (!this.#point || entry.seq > this.#point.seq) return this.verify(entry);
    return this.#leadsTo(entry, this.#point);
  }

  /** Whether the chain leads from an entry to a later one. */
  async #leadsTo(from: ChainPoint, head: ChainPoint): Promise<boolean> {
    const { reader, keys, onPage } = this.#options;
    return (await verifySpan(reader, keys, { from, head, onPage })).broken === undefined;
  }

  async #follow(head: ChainPoint): Promise<boolean> {
    const { reader, keys, onPage } = this.#options;
    if (!this.isAt(head)) {
      const from = await this.#beginning(head);
      // The look reports the problem, and this process keeps its knowledge of a log that was set back.
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
   * The starting point: the last entry that this process verified or, if the log no longer contains it, the newest
   * anchor in the log; undefined while a look finds a problem.
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

  /** Runs one at a time: two in parallel would walk the same entries twice. */
  #alone<Value>(work: () => Promise<Value>): Promise<Value> {
    const result = this.#queue.then(work);
    this.#queue = result.catch(() => undefined);
    return result;
  }
}

function isSame(one: ChainPoint | undefined, other: ChainPoint): boolean {
  return one?.seq === other.seq && one.hash === other.hash;
}
