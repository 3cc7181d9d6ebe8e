import type { Idempotency } from "../../../src/domain/access/idempotency.ts";
import { auditKey } from "../../../src/domain/audit/seal.ts";
import type { Command } from "../../../src/engine/commands.ts";
import type { Submission } from "../../../src/ledger/sequencer/batch.ts";
import type { Submitted } from "../../../src/ledger/sequencer/job.ts";
import { Sequencer } from "../../../src/ledger/sequencer/sequencer.ts";
import { BEGINNING, FakeDatabase } from "./fake-database.ts";
import { FakeJournal, NO_FAULTS } from "./fake-journal.ts";
import { Random } from "./random.ts";
import { Scheduler } from "./scheduler.ts";
import { openingCommands } from "./tasks.ts";

/** A request with an Idempotency-Key, and how it is answered. */
export type Keyed = Idempotency & Pick<Submission, "render">;

export type Heard = { answer: Submitted<Command> } | { code: string; fault: Error & { retryAfterSec?: number } };

/** When the market m2 closes, milliseconds after the beginning. */
export const M2_CLOSES_MS = 5000;

/** A database with a tenant and two processes on it, for tests that decide themselves what goes wrong. */
export class Bench {
  readonly scheduler = new Scheduler(new Random(7));
  readonly database = new FakeDatabase(this.scheduler);
  readonly journals: [FakeJournal, FakeJournal];
  readonly sequencers: [Sequencer, Sequencer];
  readonly errors: unknown[] = [];
  readonly batches: number[] = [];

  private constructor() {
    const journal = (name: string) => new FakeJournal(name, this.database, this.scheduler, { ...NO_FAULTS });
    this.journals = [journal("A"), journal("B")];
    const sequencer = (own: FakeJournal) =>
      new Sequencer({
        journal: own,
        auditKey: auditKey("bench-secret"),
        monotonic: () => this.scheduler.now,
        after: (ms, run) => this.scheduler.after(ms, run),
        random: () => this.scheduler.random.next(),
        defer: (work) => work(),
        onError: (error) => this.errors.push(error),
        onCommit: ({ commands }) => this.batches.push(commands),
      });
    this.sequencers = [sequencer(this.journals[0]), sequencer(this.journals[1])];
  }

  static async open(): Promise<Bench> {
    const bench = new Bench();
    for (const command of openingCommands(BEGINNING + M2_CLOSES_MS)) await bench.run(bench.submit(command));
    bench.batches.length = 0;
    for (const { sent } of bench.journals) sent.clear();
    return bench;
  }

  submit(command: Command, process: 0 | 1 = 0, keyed?: Keyed): Promise<Heard> {
    const { render, ...idempotency } = keyed ?? {};
    const submission = { command, actor: "test", render, idempotency: keyed && (idempotency as Idempotency) };
    return this.sequencers[process].submit(submission).then(
      (answer) => ({ answer }),
      (fault) => ({ code: fault.code ?? String(fault), fault }),
    );
  }

  /** Lets time pass until the promise is settled. */
  async run<T>(promise: Promise<T>): Promise<T> {
    let over = false;
    const end = promise.finally(() => {
      over = true;
    });
    await this.scheduler.run(() => over);
    if (!over) throw new Error("Nothing is left to happen, and the promise is still open");
    return end;
  }

  balance(account: string): bigint {
    return this.database.row("account", account)?.balanceMicro ?? 0n;
  }

  /** Entries of the journal of one type. */
  entries(type: string): number {
    return this.database.audit.filter((entry) => entry.type === type).length;
  }
}

export const code = (heard: Heard): string => ("code" in heard ? heard.code : "answered");

export function depositOf(reference: string, amountMicro = 1_000_000n): Command {
  return { type: "recordDeposit", provider: "payments", traderId: "u0", amountMicro, reference };
}

let trades = 0;

export function buy(amountMicro: bigint, marketId = "m0", traderId = "u0"): Command {
  trades += 1;
  return {
    type: "placeTrade",
    id: `bench-${trades}`,
    marketId,
    traderId,
    side: "yes",
    amountMicro,
    claimedJurisdiction: undefined,
  };
}
