import type { ChainPoint } from "../../domain/audit/audit-link.ts";
import type { ChainBreak } from "../../domain/audit/chain-walk.ts";
import type { AuditKey } from "../../domain/audit/seal.ts";
import type { Reader } from "../../postgres/pool.ts";
import { readLog } from "../../queries/evidence.ts";
import { Evidence, type Look, newestAnchor } from "../anchors/evidence.ts";
import { VerifiedHead } from "../anchors/verified-head.ts";
import { type Sleep, sleepUntilAborted } from "../background/repeat.ts";
import { type Verification, verifyChain } from "./audit-verifier.ts";

/** A log of so many entries is checked whole by each question: it takes less than half a second. */
export const WHOLE_UP_TO = 100_000n;
/** After this long the background checks everything again. */
export const FULL_EVERY_MS = 10 * 60_000;
/** A server without the lease does so too, this many times less often: it signs only for what it has verified itself. */
export const PASS_RARER = 6;
/** The background rests nine times as long as its work took, so it takes a tenth of one core. */
export const REST_PER_WORK = 9;

/** Entries that every round of the background verifies from the first one on: a tenth of a second's work. */
const WHOLE_EACH_ROUND_UP_TO = 20_000n;
/** A page is short, so this is seldom reached. */
const LONGEST_REST_MS = 1000;

export interface ChainCheckOptions {
  /** A connection on which long reads hold up no others. */
  reader: Reader;
  keys: readonly AuditKey[];
  /** Entries that the log is known to have contained. */
  evidence?: Evidence | undefined;
  /** Resolves once all that a read has shown would outlive the database's server; nothing is asked unless given. */
  confirm?: (() => Promise<void>) | undefined;
  wholeUpTo?: bigint | undefined;
  /** Of the watch before, in the same process; a new one unless given. */
  memory?: ChainMemory | undefined;
  /** Waits, or returns early when the signal aborts. */
  sleep?: Sleep;
  /** Whether this process is the one that walks the whole log regularly; always unless given. */
  isMine?: (() => boolean) | undefined;
}

/**
 * How far a process has walked a chain, kept while its tenant is closed and opened again: the next walk of the whole is due when
 * it would have been due in between, instead of at each opening.
 */
export class ChainMemory {
  pass: Pass | undefined;
  /** Ids of the keys that it was verified by. */
  keys = "";
}

/** The state of the chain. */
export interface ChainStatus extends Pick<Verification, "verified" | "head" | "count"> {
  /** When the chain was last verified from the first entry on; milliseconds by the database's clock. */
  verifiedAt: number;
  problem: ChainBreak | undefined;
  /** The newest entry that the log is known to have held. */
  anchor: (ChainPoint & { ts: string }) | undefined;
}

/** The last walk from the first entry on, and how far new entries were followed since. */
interface Pass {
  verifiedAt: number;
  end: ChainPoint;
  broken: ChainBreak | undefined;
  /** By this process's monotonic clock. */
  endedAt: number;
}

/**
 * Knows whether the chain holds. Short chains are verified whole by each question. Of a long one a background walk
 * verifies the whole every ten minutes and new entries every few seconds, and a question verifies the rest. A
 * problem, once found, is told everywhere alike until a later verification finds it gone.
 */
export class ChainCheck {
  readonly #reader: Reader;
  readonly #keys: readonly AuditKey[];
  readonly #evidence: Evidence;
  readonly #confirm: () => Promise<void>;
  readonly #wholeUpTo: bigint;
  readonly #wholeEachRoundUpTo: bigint;
  readonly #sleep: Sleep;
  readonly #stopped = new AbortController();
  /** How far the process may sign for the log. */
  readonly verifiedHead: VerifiedHead;
  readonly #memory: ChainMemory;
  #look: Look | undefined;
  readonly #isMine: () => boolean;

  constructor(options: ChainCheckOptions) {
    const { reader, keys, wholeUpTo = WHOLE_UP_TO, memory = new ChainMemory() } = options;
    const ids = keys.map(({ id }) => id).join(" ");
    if (memory.keys !== ids) Object.assign(memory, { pass: undefined, keys: ids });
    this.#memory = memory;
    this.#reader = reader;
    this.#keys = keys;
    this.#evidence = options.evidence ?? new Evidence({ reader, keys });
    this.#confirm = options.confirm ?? (async () => {});
    this.#wholeUpTo = wholeUpTo;
    this.#wholeEachRoundUpTo = wholeUpTo < WHOLE_EACH_ROUND_UP_TO ? wholeUpTo : WHOLE_EACH_ROUND_UP_TO;
    this.#sleep = options.sleep ?? sleepUntilAborted;
    this.#isMine = options.isMine ?? (() => true);
    const onPage = this.#pacing(this.#stopped.signal);
    this.verifiedHead = new VerifiedHead({ reader, keys, evidence: this.#evidence, onPage });
  }

  /** The problem found by the latest look or walk. */
  get problem(): ChainBreak | undefined {
    return this.#memory.pass?.broken ?? this.#look?.problem ?? this.verifiedHead.problem;
  }

  /** Verifies what the background has not: everything when the chain is short, or when no walk has ended yet. */
  async status(): Promise<ChainStatus> {
    const look = await this.look();
    const { head, last, readAt } = look.log;
    const anchor = newestAnchor(look.anchors);
    if (!head) return { ...stateOf({ seq: last.seq, hash: last.hash }, look.problem), verifiedAt: readAt, anchor };
    const pass = await this.#usablePass();
    if (!pass || head.seq <= this.#wholeUpTo) {
      const whole = await verifyChain(this.#reader, this.#keys);
      this.#keep(whole);
      const end = { seq: whole.count, hash: whole.head };
      return { ...stateOf(end, whole.broken ?? look.problem), verifiedAt: whole.askedAt, anchor };
    }
    const { verifiedAt } = pass;
    const known = pass.broken ?? look.problem;
    if (known) return { ...stateOf(head, known), verifiedAt, anchor };
    const {
      head: hash,
      count: seq,
      broken,
    } = await verifyChain(this.#reader, this.#keys, { from: pass.end, counts: false });
    return { ...stateOf({ seq, hash }, broken), verifiedAt, anchor };
  }

  /** A look at the head and the anchors. */
  async look(): Promise<Look> {
    this.#look = await this.#evidence.look();
    return this.#look;
  }

  /**
   * Follows the log up to the head that a look has found, and remembers it as one that this process has seen whole.
   * @returns false unless every seal up to it holds, and the database has confirmed it
   */
  async #followed({ problem, log: { head } }: Look): Promise<boolean> {
    if (problem || !head || !(await this.maySign(head))) return false;
    if (head.seq > 0n) this.#evidence.acknowledgeSeen(head);
    return true;
  }

  /**
   * Whether this process may sign for an entry that a read has shown. One that is on the primary alone may be lost with it;
   * signed or remembered, it would make the log of the next primary one that was set back.
   */
  maySign(head: ChainPoint): boolean | Promise<boolean> {
    const isAcknowledged = head.seq <= (this.#evidence.acknowledged?.seq ?? 0n);
    if (isAcknowledged) return this.verifiedHead.isAt(head) || this.verifiedHead.verify(head);
    return this.verifiedHead.verify(head).then(
      (holds) =>
        holds &&
        this.#confirm().then(
          () => true,
          // It is asked again with the next look, which also tells when the database is away.
          () => false,
        ),
    );
  }

  /**
   * One round of the background: new entries, or the whole chain when that is due, or short.
   * @returns what it found
   */
  async round(signal: AbortSignal = new AbortController().signal): Promise<ChainBreak | undefined> {
    const look = await this.look();
    const pass = await this.#usablePass();
    const isDue =
      !pass ||
      pass.end.seq <= this.#wholeEachRoundUpTo ||
      performance.now() - pass.endedAt >= FULL_EVERY_MS * (this.#isMine() ? 1 : PASS_RARER);
    if (isDue) this.#keep(await this.#walk(signal));
    else {
      // A problem found before is checked again: it may have been mended.
      const { end, broken } = await this.#walk(signal, pass.end);
      this.#memory.pass = { ...pass, end, broken };
    }
    await this.#followed(look);
    return this.problem;
  }

  /** Follows the log up to its head. @returns the look, where every seal up to its head holds and nothing is wrong */
  async follow(): Promise<Look | undefined> {
    const look = await this.look();
    return (await this.#followed(look)) && !this.problem ? look : undefined;
  }

  /** Ends walks that are under way. */
  stop(): void {
    this.#stopped.abort();
  }

  /** Small pages with a rest after each: a trade never waits for more than one page's hashing. */
  async #walk(signal: AbortSignal, from?: ChainPoint): Promise<Verification> {
    const onPage = this.#pacing(signal);
    return verifyChain(this.#reader, this.#keys, { from, onPage, counts: false });
  }

  #pacing(signal: AbortSignal): () => Promise<void> {
    let startedAt = performance.now();
    return async () => {
      const workedMs = performance.now() - startedAt;
      await this.#sleep(Math.min(workedMs * REST_PER_WORK, LONGEST_REST_MS), signal);
      signal.throwIfAborted();
      startedAt = performance.now();
    };
  }

  /** The last pass, unless the log has been replaced since. */
  async #usablePass(): Promise<Pass | undefined> {
    const pass = this.#memory.pass;
    if (!pass || pass.end.seq === 0n) return pass;
    const { head, hashes } = await this.#reader.read((sql) => readLog(sql, [pass.end]));
    const holds = head && head.seq >= pass.end.seq && hashes.get(pass.end.seq) === pass.end.hash;
    if (!holds && this.#memory.pass === pass) this.#memory.pass = undefined;
    return this.#memory.pass;
  }

  #keep({ askedAt, end, broken }: Verification): void {
    this.#memory.pass = { verifiedAt: askedAt, end, broken, endedAt: performance.now() };
  }
}

function stateOf({ seq, hash }: ChainPoint, problem: ChainBreak | undefined) {
  return { verified: problem === undefined, head: hash, count: seq, problem };
}
