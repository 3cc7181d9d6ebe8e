import type { ChainBreak } from "../../domain/audit/chain-walk.ts";
import type { Look } from "../anchors/evidence.ts";
import { type Repeated, repeat, type Sleep, sleepUntilAborted } from "../background/repeat.ts";
import { ChainCheck, type ChainCheckOptions, type ChainStatus, REST_PER_WORK } from "./chain-check.ts";
import { LedgerCheck, type LedgerCheckOptions, type LedgerFinding } from "./ledger-check.ts";

/** The head is compared with the anchors at this pace, however long a walk takes. */
const LOOK_MS = 2000;
/** New entries are followed, and it is asked whether a comparison is due, at this pace. */
const FOLLOW_MS = 5000;

export interface RecordWatchOptions {
  chain: Omit<ChainCheckOptions, "isMine" | "sleep">;
  ledger: Omit<LedgerCheckOptions, "isMine">;
  sleep?: Sleep;
}

/** Callbacks of a running watch. */
export interface RecordWatchEvents {
  /** Called once for each problem of the chain, when it is found. */
  onBroken: (problem: ChainBreak) => void;
  /** Called when a comparison finds that the ledger does not add up, once until it does again. */
  onDifference: (found: LedgerFinding) => void;
  /** Called for the first of consecutive failures only: while the database is away every round fails alike. */
  onError: (error: unknown) => void;
  /** Called after each look that found no problem, once every seal up to the head was computed. */
  onSound?: ((look: Look) => void) | undefined;
  /** Whether this process is the one that checks everything regularly; always unless given. */
  isMine?: (() => boolean) | undefined;
}

/**
 * Knows whether the record holds, by two checks: the log by its seals, its head and the anchors, and the ledger by what the
 * log recomputes to. A problem, once found, is told everywhere alike until a later check finds it gone.
 */
export class RecordWatch {
  readonly chain: ChainCheck;
  readonly ledger: LedgerCheck;
  readonly #sleep: Sleep;
  #isMine: () => boolean = () => true;
  #running: Repeated[] = [];

  constructor({ chain, ledger, sleep }: RecordWatchOptions) {
    const isMine = () => this.#isMine();
    this.#sleep = sleep ?? sleepUntilAborted;
    this.chain = new ChainCheck({ ...chain, isMine, sleep: this.#sleep });
    this.ledger = new LedgerCheck({ ...ledger, isMine });
  }

  /** The problem found by the latest checks, the log's first: what the tables hold is compared with it. */
  get problem(): ChainBreak | undefined {
    return this.chain.problem ?? this.#difference();
  }

  /** Verifies what the background has not of the chain, and says what the last comparison of the ledger found. */
  async status(): Promise<ChainStatus> {
    const status = await this.chain.status();
    const problem = status.problem ?? this.#difference();
    return { ...status, verified: problem === undefined, problem };
  }

  /** Watches in the background until stopped. */
  start({ onBroken, onDifference, onError, onSound, isMine }: RecordWatchEvents): void {
    this.#isMine = isMine ?? this.#isMine;
    let broken: string | undefined;
    let differed = false;
    const report = () => {
      const { problem } = this.chain;
      const name = problem && `${problem.kind} ${problem.seq}`;
      if (problem && name !== broken) onBroken(problem);
      broken = name;
      const difference = this.ledger.problem;
      if (difference && !differed) onDifference(difference);
      differed = difference !== undefined;
    };
    const reporting = (work: (signal: AbortSignal) => Promise<unknown>, pauseMs: number, restPerWork = 0) =>
      repeat((signal) => work(signal).then(report), { pauseMs, restPerWork, onError, sleep: this.#sleep });
    // Separate from the looks: the first walk to the head, and a comparison, may be long.
    const follow = async () => {
      const sound = await this.chain.follow();
      if (sound) onSound?.(sound);
    };
    this.#running = [
      reporting(() => this.chain.look(), LOOK_MS),
      reporting(follow, LOOK_MS),
      reporting((signal) => this.chain.round(signal), FOLLOW_MS),
      reporting((signal) => this.ledger.round(signal), FOLLOW_MS, REST_PER_WORK),
    ];
  }

  /** Ends a check that is under way, which may take long, rather than wait for it. */
  async stop(): Promise<void> {
    const ended = this.#running.map((each) => each.stop());
    this.chain.stop();
    await this.ledger.stop();
    await Promise.all(ended);
  }

  #difference(): ChainBreak | undefined {
    const found = this.ledger.problem;
    if (!found) return undefined;
    const names = found.checks.filter(({ differenceMicro }) => differenceMicro !== 0n).map(({ name }) => name);
    return {
      kind: "ledger",
      seq: found.seq,
      problem: `the tables are not what the log amounts to: ${names.join(", ")}`,
    };
  }
}
