import type { ChainPoint } from "../../domain/audit/audit-link.ts";
import type { ChainBreak } from "../../domain/audit/chain-walk.ts";
import type { AuditKey } from "../../domain/audit/seal.ts";
import type { Reader } from "../../postgres/pool.ts";
import { readLog } from "../../queries/evidence.ts";
import { Evidence, type Look, newestAnchor } from "../anchors/evidence.ts";
import { VerifiedHead } from "../anchors/verified-head.ts";
import { type Sleep, sleepUntilAborted } from "../background/repeat.ts";
import { type Verification, verifyChain } from "./audit-verifier.ts";

/** Logs with up to this many entries are verified completely by each question, in less than half a second. */
export const WHOLE_UP_TO = 100_000n;
/** After this time the background verifies everything again. */
export const FULL_EVERY_MS = 10 * 60_000;
/** A server without the lease does so too, this many times less often: it signs only for what it has verified itself. */
export const PASS_RARER = 6;
/** The background rests nine times as long as its work took, so it uses a tenth of one core. */
export const REST_PER_WORK = 9;

/** Logs with up to this many entries are verified from the first entry in every background round: a tenth of a second. */
const WHOLE_EACH_ROUND_UP_TO = 20_000n;
/** Pages are short, so this limit is rarely reached. */
const LONGEST_REST_MS = 1000;

export interface ChainCheckOptions {
  /** A connection on which long reads delay no others. */
  reader: Reader;
  keys: readonly AuditKey[];
  /** Entries that the log is known to have contained. */
  evidence?: Evidence | undefined;
  /** Resolves once everything that a read has shown would survive the loss of the database's server; not checked by default. */
  confirm?: ((entry: ChainPoint) => Promise<void>) | undefined;
  wholeUpTo?: bigint | undefined;
  /** The memory of the previous watch in the same process; new by default. */
  memory?: ChainMemory | undefined;
  /** Waits, or returns early when the signal aborts. */
  sleep?: Sleep;
  /** Whether this process regularly walks the whole log; always by default. */
  isMine?: (() => boolean) | undefined;
}

/**
 * How far a process has walked a chain. It is kept while the tenant is closed and opened again, so that the next
 * complete walk keeps its schedule instead of running at each opening.
 */
export class ChainMemory {
  pass: Pass | undefined;
  /** The ids of the keys that verified the chain. */
  keys = "";
}

/** The state of the chain. */
export interface ChainStatus extends Pick<Verification, "verified" | "head" | "count"> {
  /** When the chain was last verified from the first entry; milliseconds by the database's clock. */
  verifiedAt: number;
  problem: ChainBreak | undefined;
  /** The newest entry that the log is known to have contained. */
  anchor: (ChainPoint & { ts: string }) | undefined;
}

/** The last walk from the first entry, and how far new entries were followed since. */
interface Pass {
  verifiedAt: number;
  end: ChainPoint;
  broken: ChainBreak | undefined;
  /** By this process's monotonic clock. */
  endedAt: number;
}

/**
 * Verifies the chain. Each question verifies a short chain completely. For a long chain, a background walk verifies
 * everything every ten minutes and new entries every few seconds; a question verifies the rest. A problem is reported
 * everywhere until a later verification finds it gone.
 */
export class ChainCheck {
  readonly #reader: Reader;
  readonly #keys: readonly AuditKey[];
  readonly #evidence: Evidence;
  readonly #confirm: (entry: ChainPoint) => Promise<void>;
  readonly #wholeUpTo: bigint;
  readonly #wholeEachRoundUpTo: bigint;
  readonly #sleep: Sleep;
  readonly #stopped = new AbortController();
  /** How far the process may sign for the log. */
  readonly verifiedHead: VerifiedHead;
  readonly #memory: ChainMemory;
  #look: Look | undefined;
  /** The walk of a long chain that a question has begun because none had ended. */
  #first: Promise<Verification> | undefined;
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

  /** Verifies what the background has not: everything if the chain is short or no walk has ended yet. */
  async status(): Promise<ChainStatus> {
    const look = await this.look();
    const { head, last, readAt } = look.log;
    const anchor = newestAnchor(look.anchors);
    if (!head) return { ...stateOf({ seq: last.seq, hash: last.hash }, look.problem), verifiedAt: readAt, anchor };
    const pass = await this.#usablePass();
    const isLong = head.seq > this.#wholeUpTo;
    if (!pass && isLong && this.#first) {
      // Another question walks a long chain for the first time: what it finds counts for this one too.
      await this.#first.catch(() => {});
      return this.status();
    }
    if (!pass || !isLong) {
      const whole = await this.#verifyWhole(isLong);
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

  async #verifyWhole(isLong: boolean): Promise<Verification> {
    const walk = verifyChain(this.#reader, this.#keys);
    if (isLong) this.#first = walk;
    try {
      const whole = await walk;
      this.#keep(whole);
      return whole;
    } finally {
      if (this.#first === walk) this.#first = undefined;
    }
  }

  /** Compares the head with the anchors. */
  async look(): Promise<Look> {
    this.#look = await this.#evidence.look();
    return this.#look;
  }

  /**
   * Follows the log up to the head that a look has found, and remembers that head as completely verified.
   * @returns false unless every seal up to it is valid and the database has confirmed it
   */
  async #followed({ problem, log: { head } }: Look): Promise<boolean> {
    if (problem || !head || !(await this.maySign(head))) return false;
    if (head.seq > 0n) this.#evidence.acknowledgeSeen(head);
    return true;
  }

  /**
   * Whether this process may sign for an entry that a read has shown. An entry that only the primary has may be lost
   * with it. If it were signed or remembered, the next primary's log would look set back.
   */
  maySign(head: ChainPoint): boolean | Promise<boolean> {
    const isAcknowledged = head.seq <= (this.#evidence.acknowledged?.seq ?? 0n);
    if (isAcknowledged) return this.verifiedHead.isAt(head) || this.verifiedHead.verify(head);
    return this.verifiedHead.verify(head).then(
      (holds) =>
        holds &&
        this.#confirm(head).then(
          () => true,
          // The next look asks again, and also reports that the database is away.
          () => false,
        ),
    );
  }

  /**
   * One background round: new entries, or the whole chain if that is due or the chain is short.
   * @returns the problem found, if any
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
      // An earlier problem is checked again, because it may have been repaired.
      const { end, broken } = await this.#walk(signal, pass.end);
      this.#memory.pass = { ...pass, end, broken };
    }
    await this.#followed(look);
    return this.problem;
  }

  /** Follows the log up to its head. @returns the look, if every seal up to its head is valid and there is no problem */
  async follow(): Promise<Look | undefined> {
    const look = await this.look();
    return (await this.#followed(look)) && !this.problem ? look : undefined;
  }

  /** Ends walks in progress. */
  stop(): void {
    this.#stopped.abort();
  }

  /** Walks in small pages with a rest after each: a trade waits at most for the hashing of one page. */
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
