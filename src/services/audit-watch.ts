import { setTimeout as delay } from "node:timers/promises";
import type { ChainBreak, ChainPoint } from "../engine/chain-walk.ts";
import type { AuditKey } from "../engine/seal.ts";
import type { Reader } from "../store/pool.ts";
import { readAuditHead } from "../store/queries/audit.ts";
import { type Verification, verifyChain } from "./audit-verifier.ts";

/** Entries that a request verifies from the first one on (decision 29): about half a second. */
const WHOLE_UP_TO = 100_000n;
/** The walk rests nine times as long as its work took, so it takes a tenth of one core, and less of a busy machine. */
const REST_PER_WORK = 9;
const LONGEST_REST_MS = 1000;
/** New entries are followed at this pace. */
const FOLLOW_MS = 5000;
/** After this long the background walk begins at the first entry again. */
const FULL_EVERY_MS = 10 * 60_000;

export interface WatchOptions {
  /** A connection on which long reads are in nobody's way. */
  reader: Reader;
  keys: readonly AuditKey[];
  wholeUpTo?: bigint | undefined;
  /** Waits, or returns early when the signal aborts. */
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** What is told of the chain's state. */
export interface ChainStatus extends Pick<Verification, "verified" | "head" | "count"> {
  /** When the chain was last verified from the first entry on; milliseconds by the database's clock. */
  verifiedAt: number;
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
 * Knows whether the chain holds. Short chains are verified whole by whoever asks. Of a long one a background walk
 * verifies the whole every ten minutes and new entries every few seconds, and whoever asks verifies the rest.
 */
export class AuditWatch {
  readonly #reader: Reader;
  readonly #keys: readonly AuditKey[];
  readonly #wholeUpTo: bigint;
  readonly #sleep: NonNullable<WatchOptions["sleep"]>;
  #pass: Pass | undefined;
  #running: { abort: AbortController; ended: Promise<void> } | undefined;

  constructor({ reader, keys, wholeUpTo = WHOLE_UP_TO, sleep = rest }: WatchOptions) {
    this.#reader = reader;
    this.#keys = keys;
    this.#wholeUpTo = wholeUpTo;
    this.#sleep = sleep;
  }

  /** Verifies what the background has not: everything when the chain is short, or when no walk has ended yet. */
  async status(): Promise<ChainStatus> {
    const head = await this.#reader.read(readAuditHead);
    const pass = this.#pass;
    if (!pass || head.seq <= this.#wholeUpTo) {
      const whole = await verifyChain(this.#reader, this.#keys);
      if (!pass) this.#keep(whole);
      return { ...statusOf(whole), verifiedAt: whole.askedAt };
    }
    const { verifiedAt } = pass;
    if (pass.broken) return { verified: false, head: head.hash, count: head.seq, verifiedAt };
    return { ...statusOf(await verifyChain(this.#reader, this.#keys, { from: pass.end })), verifiedAt };
  }

  /**
   * One round of the background: new entries, or the whole chain when that is due.
   * @returns what it found broken
   */
  async round(signal: AbortSignal = new AbortController().signal): Promise<ChainBreak | undefined> {
    const pass = this.#pass;
    if (!pass || performance.now() - pass.endedAt >= FULL_EVERY_MS) {
      const whole = await this.#walk(signal);
      this.#keep(whole);
      return whole.broken;
    }
    if (pass.broken) return pass.broken;
    const { end, broken } = await this.#walk(signal, pass.end);
    this.#pass = { ...pass, end, broken };
    return broken;
  }

  /**
   * Walks in the background until stopped.
   * @param onBroken told once of each entry that is found not to hold
   * @param onError told of the first failure of a row only: while the database is away every round fails alike
   */
  start(onBroken: (broken: ChainBreak) => void, onError: (error: unknown) => void): void {
    const abort = new AbortController();
    this.#running = { abort, ended: this.#run(abort.signal, onBroken, onError) };
  }

  async stop(): Promise<void> {
    this.#running?.abort.abort();
    await this.#running?.ended;
  }

  async #run(signal: AbortSignal, onBroken: (broken: ChainBreak) => void, onError: (error: unknown) => void) {
    let told: bigint | undefined;
    let failing = false;
    while (!signal.aborted) {
      try {
        const broken = await this.round(signal);
        if (broken && broken.seq !== told) onBroken(broken);
        told = broken?.seq;
        failing = false;
      } catch (error) {
        if (!failing && !signal.aborted) onError(error);
        failing = true;
      }
      await this.#sleep(FOLLOW_MS, signal);
    }
  }

  /** Small pages with a rest after each: a trade never waits for more than one page's hashing. */
  async #walk(signal: AbortSignal, from?: ChainPoint): Promise<Verification> {
    let startedAt = performance.now();
    const onPage = async () => {
      const workedMs = performance.now() - startedAt;
      await this.#sleep(Math.min(workedMs * REST_PER_WORK, LONGEST_REST_MS), signal);
      signal.throwIfAborted();
      startedAt = performance.now();
    };
    return verifyChain(this.#reader, this.#keys, { from, onPage });
  }

  #keep({ askedAt, end, broken }: Verification): void {
    this.#pass = { verifiedAt: askedAt, end, broken, endedAt: performance.now() };
  }
}

function statusOf({ verified, head, count }: Verification) {
  return { verified, head, count };
}

/** Ends early, and without an error, when the signal aborts. Does not keep the process alive. */
async function rest(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal, ref: false }).catch(() => undefined);
}
