import type { Fault } from "../../domain/fault.ts";
import { outcomeUnknown } from "./faults.ts";

/** How long a leader may be silent before this process decides by itself. Longer than a command may wait in a queue. */
const SILENCE_MS = 3000;
/** A leader decides a passed command within this time or never, so not after its sender has given up. */
export const LATEST_DECISION_MS = SILENCE_MS;
/** How long this process decides by itself after a leader was lost. */
const ALONE_MS = 5000;
/** How long it decides by itself after there was no leader to find. */
const NONE_MS = 1000;
/** How long lost commands wait for the fence before their callers get an error. */
const MAX_UNKNOWN_MS = 8000;
const RETRY_MS = 250;

/** A command on its way to the leader. */
export interface Passed<Request> {
  id: number;
  /** The leader decides it only in this epoch: raising the epoch calls it back. */
  epoch: bigint;
  request: Request;
}

export type Reply<Answer> =
  | { kind: "answer"; answer: Answer }
  | { kind: "refused"; fault: Fault }
  /** Not decided, and never will be. */
  | { kind: "not decided" };

/** The connection to a leader. */
export interface Leader<Request> {
  send(passed: readonly Passed<Request>[]): void;
  close(): void;
}

/** What a leader tells. */
export interface Listener<Answer> {
  replied(replies: readonly (Reply<Answer> & { id: number })[]): void;
  /** The leader takes no further commands. It still answers those that it has. */
  leaves(): void;
  lost(): void;
}

export interface PassingOptions<Request, Answer> {
  /** Connects to the process that leads; undefined if there is none, or if this process leads. */
  find(listener: Listener<Answer>): Promise<Leader<Request> | undefined>;
  /** Decides a command in this process. */
  decide(request: Request): Promise<Answer>;
  /** Reads the epoch of the head. */
  readEpoch(): Promise<bigint>;
  /** Raises the epoch. */
  fence(): Promise<unknown>;
  /** The answers to those of the requests that are stored, except where a repeated decision finds them. */
  findAnswers(requests: readonly Request[]): Promise<ReadonlyMap<Request, Answer>>;
  /** Milliseconds that never move back. */
  monotonic: () => number;
  /** Runs something later; returns a function that cancels it. */
  after: (ms: number, run: () => void) => () => void;
  /** Runs the work after everything that is ready now. */
  defer: (work: () => void) => void;
}

/**
 * Passes commands to the process that leads, while several processes write. One process then decides for all, in
 * batches as large as those of a process alone, and none reads again what another has written.
 *
 * No guarantee depends on who leads: each process can decide each command, and the head decides what is committed. When
 * a leader is lost, this process raises the epoch, in which no passed command can be committed any more. Then it answers
 * those that are stored, and decides the others.
 */
export class Passing<Request, Answer> {
  readonly #options: PassingOptions<Request, Answer>;
  #link: Link<Request, Answer> | undefined;
  #isLooking = false;
  #aloneUntil = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(options: PassingOptions<Request, Answer>) {
    this.#options = options;
  }

  /** Looks for a leader, because another process writes too. */
  meet(): void {
    if (this.#link || this.#isLooking || this.#isClosed || this.#options.monotonic() < this.#aloneUntil) return;
    this.#isLooking = true;
    const link = new Link(this.#options, () => this.#aloneFor(ALONE_MS, link));
    link
      .open()
      .then(
        (isOpen) => {
          if (!isOpen) this.#aloneFor(NONE_MS);
          else if (this.#isClosed) link.close();
          else this.#link = link;
        },
        () => this.#aloneFor(ALONE_MS),
      )
      .finally(() => {
        this.#isLooking = false;
      });
  }

  /** Resolves after the commit, whichever process made it. @throws Fault as `Sequencer.submit` does */
  submit(request: Request): Promise<Answer> {
    return this.#link?.isUsable ? this.#link.pass(request) : this.#options.decide(request);
  }

  /** Passes nothing more. The connection ends with the last reply. */
  close(): void {
    this.#isClosed = true;
    this.#link?.leaves();
  }

  #aloneFor(ms: number, link?: Link<Request, Answer>): void {
    this.#aloneUntil = this.#options.monotonic() + ms;
    if (this.#link === link) this.#link = undefined;
  }
}

interface Waiting<Request, Answer> {
  request: Request;
  resolve: (answer: Answer) => void;
  reject: (fault: unknown) => void;
}

/** One connection to a leader, and the commands that wait for its replies. */
class Link<Request, Answer> implements Listener<Answer> {
  readonly #options: PassingOptions<Request, Answer>;
  readonly #onLeft: () => void;
  #leader: Leader<Request> | undefined;
  /** Undefined while it must be read: then this process decides. */
  #epoch: bigint | undefined;
  #waiting = new Map<number, Waiting<Request, Answer>>();
  #outbox: Passed<Request>[] = [];
  #lastId = 0;
  #heardAt = 0;
  #stopWatching: (() => void) | null = null;
  #hasLeft = false;

  /** @param onLeft called when no further command can be passed */
  constructor(options: PassingOptions<Request, Answer>, onLeft: () => void) {
    this.#options = options;
    this.#onLeft = onLeft;
  }

  /** False if there is no leader. */
  async open(): Promise<boolean> {
    this.#leader = await this.#options.find(this);
    if (!this.#leader) return false;
    try {
      this.#epoch = await this.#options.readEpoch();
    } catch (error) {
      this.close();
      throw error;
    }
    return !this.#hasLeft;
  }

  get isUsable(): boolean {
    return !this.#hasLeft && this.#epoch !== undefined;
  }

  pass(request: Request): Promise<Answer> {
    const { monotonic, after, defer } = this.#options;
    return new Promise((resolve, reject) => {
      this.#lastId += 1;
      if (this.#waiting.size === 0) this.#heardAt = monotonic();
      this.#waiting.set(this.#lastId, { request, resolve, reject });
      this.#outbox.push({ id: this.#lastId, epoch: this.#epoch ?? 0n, request });
      // Runs after the other callers in this turn of the event loop, whose commands travel together.
      if (this.#outbox.length === 1) defer(() => this.#flush());
      this.#stopWatching ??= after(SILENCE_MS, () => this.#watch());
    });
  }

  replied(replies: readonly (Reply<Answer> & { id: number })[]): void {
    this.#heardAt = this.#options.monotonic();
    const unknown: Waiting<Request, Answer>[] = [];
    for (const reply of replies) {
      const waiting = this.#waiting.get(reply.id);
      if (!waiting) continue;
      this.#waiting.delete(reply.id);
      if (reply.kind === "answer") waiting.resolve(reply.answer);
      else if (reply.kind === "not decided") {
        this.#readEpoch();
        this.#decide(waiting);
      } else if (reply.fault.code === "DATABASE_UNAVAILABLE") {
        // The leader's way to the database may be broken where this process's is not.
        this.leaves();
        this.#decide(waiting);
      } else if (reply.fault.code === "OUTCOME_UNKNOWN") unknown.push(waiting);
      else waiting.reject(reply.fault);
    }
    if (unknown.length > 0) {
      this.leaves();
      void this.#resolve(unknown);
    }
    if (this.#hasLeft && this.#waiting.size === 0) this.close();
  }

  leaves(): void {
    if (this.#hasLeft) return;
    this.#flush();
    this.#hasLeft = true;
    this.#onLeft();
    if (this.#waiting.size === 0) this.close();
  }

  lost(): void {
    this.close();
    const lost = [...this.#waiting.values()];
    this.#waiting.clear();
    if (lost.length > 0) void this.#resolve(lost);
  }

  close(): void {
    this.#outbox = [];
    this.#stopWatching?.();
    this.#stopWatching = null;
    const leader = this.#leader;
    this.#leader = undefined;
    leader?.close();
    this.leaves();
  }

  #flush(): void {
    const passed = this.#outbox;
    this.#outbox = [];
    if (passed.length > 0) this.#leader?.send(passed);
  }

  #decide({ request, resolve, reject }: Waiting<Request, Answer>): void {
    this.#options.decide(request).then(resolve, reject);
  }

  /** The epoch has moved. Until the new one is known, this process decides. */
  #readEpoch(): void {
    if (this.#epoch === undefined || this.#hasLeft) return;
    this.#epoch = undefined;
    this.#options.readEpoch().then(
      (epoch) => {
        this.#epoch = epoch;
      },
      () => this.leaves(),
    );
  }

  #watch(): void {
    this.#stopWatching = null;
    if (this.#waiting.size === 0) return;
    const silentMs = this.#options.monotonic() - this.#heardAt;
    if (silentMs >= SILENCE_MS) {
      this.lost();
      return;
    }
    // At least a millisecond: a timer may fire slightly early, and would be set again and again.
    this.#stopWatching = this.#options.after(Math.max(SILENCE_MS - silentMs, 1), () => this.#watch());
  }

  /** After the fence, what is stored stays and nothing more can be, so the rest can be decided here. */
  async #resolve(lost: readonly Waiting<Request, Answer>[]): Promise<void> {
    const { fence, findAnswers, monotonic, after } = this.#options;
    const deadline = monotonic() + MAX_UNKNOWN_MS;
    for (;;) {
      try {
        await fence();
        const answers = await findAnswers(lost.map(({ request }) => request));
        for (const each of lost) {
          const answer = answers.get(each.request);
          if (answer === undefined) this.#decide(each);
          else each.resolve(answer);
        }
        return;
      } catch (cause) {
        if (monotonic() >= deadline) {
          for (const { reject } of lost) reject(outcomeUnknown(cause));
          return;
        }
        await new Promise<void>((resolve) => void after(RETRY_MS, resolve));
      }
    }
  }
}
