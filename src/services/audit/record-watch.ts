import type { ChainBreak } from "../../domain/audit/chain-walk.ts";
import type { Look } from "../anchors/evidence.ts";
import { type Repeated, repeat, type Sleep, sleepUntilAborted } from "../background/repeat.ts";
import { ChainCheck, type ChainCheckOptions, type ChainStatus } from "./chain-check.ts";
import { LedgerCheck, type LedgerCheckOptions, type LedgerFinding } from "./ledger-check.ts";

/** The interval at which the head is compared with the anchors, however long a walk takes. */
const LOOK_MS = 2000;
/** The interval at which new entries are followed, and a comparison is started if it is due. */
const FOLLOW_MS = 5000;

export interface RecordWatchOptions {
  chain: Omit<ChainCheckOptions, "isMine" | "sleep">;
  ledger: Omit<LedgerCheckOptions, "isMine">;
  sleep?: Sleep;
}

/** Callbacks of a running watch. */
export interface RecordWatchEvents {
  /** Called once for each problem of the chain when it is found. */
  onBroken: (problem: ChainBreak) => void;
  /** Called when a comparison finds a difference; not called again until the ledger has reconciled. */
  onDifference: (found: LedgerFinding) => void;
  /** Called for the first of consecutive failures only: while the database is away every round fails alike. */
  onError: (error: unknown) => void;
  /** Called after each look without a problem, once every seal up to the head is computed. */
  onSound?: ((look: Look) => void) | undefined;
  /** Whether this process regularly checks everything; always by default. */
  isMine?: (() => boolean) | undefined;
}

/**
 * Checks the record in two ways: the log by its seals, its head and the anchors, and the ledger by recomputing the log.
 * A problem is reported everywhere until a later check finds it gone.
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

  /** The latest problem. The log's comes first, because the tables are compared with the log. */
  get problem(): ChainBreak | undefined {
    return this.chain.problem ?? this.#difference();
  }

  /** Verifies the part of the chain that the background has not, and adds the ledger's latest result. */
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
    const reporting = (work: (signal: AbortSignal) => Promise<unknown>, pauseMs: number) =>
      repeat((signal) => work(signal).then(report), { pauseMs, onError, sleep: this.#sleep });
    // Separate from the looks: the first walk to the head and a comparison may take long.
    const follow = async () => {
      const sound = await this.chain.follow();
      if (sound) onSound?.(sound);
    };
    this.#running = [
      reporting(() => this.chain.look(), LOOK_MS),
      reporting(follow, LOOK_MS),
      reporting((signal) => this.chain.round(signal), FOLLOW_MS),
      reporting((signal) => this.ledger.round(signal), FOLLOW_MS),
    ];
  }

  /** Ends a check in progress instead of waiting for it. */
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
      problem: `the tables differ from the recomputed log: ${names.join(", ")}`,
    };
  }
}
