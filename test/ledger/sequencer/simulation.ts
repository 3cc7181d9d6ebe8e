import { auditKey } from "../../../src/domain/audit/seal.ts";
import type { Command, Results } from "../../../src/engine/commands.ts";
import type { Head } from "../../../src/ledger/commit.ts";
import type { Submitted } from "../../../src/ledger/sequencer/job.ts";
import type { Passing } from "../../../src/ledger/sequencer/passing.ts";
import { Sequencer } from "../../../src/ledger/sequencer/sequencer.ts";
import { BEGINNING, FakeDatabase } from "./fake-database.ts";
import { FakeJournal, type Faults, NO_FAULTS } from "./fake-journal.ts";
import { Random } from "./random.ts";
import { Scheduler } from "./scheduler.ts";
import { type Asked, type Peer, passingBetween } from "./simulated-passing.ts";
import { anyTask, openingCommands, type Task } from "./tasks.ts";

export const SECRET = "simulation-secret";

/** What a process answered. */
export type Answered =
  | { kind: "done"; result: Results[Command["type"]]; body: string }
  | { kind: "replayed"; body: string };

/** What a client heard of one attempt. */
export type Outcome =
  | Answered
  | { kind: "fault"; code: string; error: unknown }
  /** The process was killed before it answered. */
  | { kind: "silence" };

export interface Attempt {
  task: Task;
  command: Command;
  outcome: Outcome;
  /** The journal's length when it was sent and when the answer came. */
  sentSeq: number;
  answeredSeq: number;
  /** The database's clock when it was sent, and when the answer came, had it never been set back. */
  sentAt: number;
  answeredAt: number;
  /** It was answered from a state that a failover took back later. */
  overtaken?: boolean;
}

export interface Run {
  seed: number;
  database: FakeDatabase;
  tasks: Task[];
  attempts: Attempt[];
  /** Nothing fails in this one. */
  calm: boolean;
  /** The database never fails in this one, whatever becomes of the processes and their connection. */
  databaseHolds: boolean;
  /** Attempts that have no answer yet. */
  waiting: Set<Pick<Attempt, "sentSeq">>;
  /** Errors that the sequencers reported to their operators. */
  errors: unknown[];
  /** What did not end. */
  hanging: string[];
  statistics: Map<string, number>;
}

/** Codes after which a client may send the command again, since nothing was executed. */
const NOT_EXECUTED = new Set(["OVERLOADED", "DATABASE_UNAVAILABLE"]);
const LONGEST_MS = 600_000;
export const LONGEST_CLOCK_STEP_MS = 300;

class Process implements Peer {
  readonly journal: FakeJournal;
  readonly sequencer: Sequencer;
  isAlive = true;
  readonly onDeath = new Set<() => void>();
  readonly #unheard = new Set<() => void>();
  readonly #passing: Passing<Asked, Answered>;

  /** @param peers all processes, the oldest first */
  constructor(name: string, run: Run, scheduler: Scheduler, { faults, peers }: { faults: Faults; peers: Peer[] }) {
    this.journal = new FakeJournal(name, run.database, scheduler, faults);
    this.#passing = passingBetween(this, peers, scheduler, (what) => count(run, what));
    this.journal.onTurn = () => {
      count(run, "turns");
      this.#passing.meet();
    };
    this.journal.onPair = (endings) => count(run, endings);
    const bootedAt = scheduler.random.between(0, 1e6);
    this.sequencer = new Sequencer({
      journal: this.journal,
      auditKey: auditKey(SECRET),
      monotonic: () => scheduler.now + bootedAt,
      after: (ms, run) => scheduler.after(ms, run),
      random: () => scheduler.random.next(),
      defer: (work) => void scheduler.after(scheduler.random.between(0, 2), work),
      onError: (error) => run.errors.push(error),
      onCommit: ({ commands }) => count(run, commands > 1 ? "batches of several" : "batches of one"),
    });
  }

  async submit(task: Task, command: Command): Promise<Outcome> {
    const silence = new Promise<Outcome>((resolve) => this.#unheard.add(() => resolve({ kind: "silence" })));
    const asked = { task, command };
    const answer = isTrade(command) ? this.#passing.submit(asked) : this.decide(asked);
    return Promise.race([answer.catch(refused), silence]);
  }

  decide({ task, command }: Asked, isCalledBack?: (head: Head) => boolean): Promise<Answered> {
    const render = (result: Results[Command["type"]]) => ({ status: 200, body: bodyOf(result) });
    const { actor, key: idempotency } = task;
    return this.sequencer.submit({ command, actor, render, idempotency, isCalledBack }).then(heard);
  }

  crash(): void {
    this.isAlive = false;
    this.journal.crash();
    for (const end of [...this.#unheard, ...this.onDeath]) end();
  }
}

export function isTrade({ type }: Command): boolean {
  return type === "placeTrade" || type === "sellShares";
}

function heard(answer: Submitted<Command>): Answered {
  if (answer.replayed) return { kind: "replayed", body: answer.replayed.body };
  return { kind: "done", result: answer.result, body: answer.rendered?.body ?? "not rendered" };
}

function refused(error: unknown): Outcome {
  const code = error instanceof Error && "code" in error ? String(error.code) : "not a fault";
  return { kind: "fault", code, error };
}

/** The result as a service would show it: a row's version is internal. */
function bodyOf(result: unknown): string {
  return JSON.stringify(result ?? null, (key, value) => {
    if (key === "version") return undefined;
    return typeof value === "bigint" ? `${value}` : value;
  });
}

export function count(run: Run, what: string): void {
  run.statistics.set(what, (run.statistics.get(what) ?? 0) + 1);
}

/** How bad the world is in this run. */
function anyFaults(random: Random, crowded: boolean): Faults {
  const rate = random.pick([0, 0.005, 0.02, 0.06]);
  const [from, away] = [random.between(0, 3000), random.between(0, 1500)];
  return {
    neverSent: rate * random.next(),
    answerLost: rate * random.next(),
    zombie: rate * random.next(),
    failed: rate * random.next() * (crowded ? 2 : 0.5),
    conflict: rate * random.next(),
    warned: rate * random.next(),
    misshapen: rate * random.next() * 0.5,
    silentDeath: rate * random.next(),
    slow: rate * random.next(),
    linkLost: random.pick([0, 0.05, 0.3]),
    outage: rate > 0 && random.chance(0.1) ? [from, from + random.pick([200, 2500, 12_000])] : [0, 0],
    standbyAway: rate > 0 && random.chance(0.15) ? [away, away + random.pick([200, 2500, 12_000])] : [0, 0],
  };
}

/**
 * Two processes on one database and clients that use both, everything decided by the seed. Ends when every client has
 * its answers, the faults are over, and both processes have shown that they still work.
 */
export async function simulate(seed: number, notes?: string[]): Promise<Run> {
  const random = new Random(seed);
  const scheduler = new Scheduler(random);
  scheduler.notes = notes;
  const database = new FakeDatabase(scheduler);
  const run: Run = {
    seed,
    database,
    tasks: [],
    attempts: [],
    calm: true,
    databaseHolds: true,
    waiting: new Set(),
    errors: [],
    hanging: [],
    statistics: new Map(),
  };
  const peers: Peer[] = [];
  const start = (name: string, faults: Faults) => {
    const process = new Process(name, run, scheduler, { faults, peers });
    peers.push(process);
    return process;
  };
  const processes = ["A", "B"].map((name) => start(name, NO_FAULTS));
  const at = (index: number) => processes[index] as Process;
  /** All clients ask one process, and without pauses, so that its batches follow each other closely. */
  let crowded = false;
  const anyProcess = () => at(crowded ? 0 : random.int(0, 1));

  async function attempt(task: Task, process: Process): Promise<Outcome> {
    const command = task.command(`trade-${run.attempts.length}-${random.int(0, 1e9)}`);
    const asked = { sentSeq: Number(database.head.seq), sentAt: database.clock() };
    run.waiting.add(asked);
    const waiting = `${task.actor} ${command.type}`;
    run.hanging.push(waiting);
    scheduler.note(() => `${process.journal.name} is asked for ${command.type} by ${task.actor}`);
    const outcome = await process.submit(task, command);
    scheduler.note(
      () => `${process.journal.name} answers ${task.actor} ${outcome.kind} ${"code" in outcome ? outcome.code : ""}`,
    );
    run.hanging.splice(run.hanging.indexOf(waiting), 1);
    const answered = { answeredSeq: Number(database.head.seq), answeredAt: database.latestClock() };
    run.waiting.delete(asked);
    run.attempts.push({ task, command, outcome, ...asked, ...answered });
    count(run, outcome.kind === "fault" ? outcome.code : outcome.kind);
    return outcome;
  }

  /** Sends the task until there is an answer. With a key it may be sent twice at once, and after any doubt. */
  async function perform(task: Task): Promise<void> {
    run.tasks.push(task);
    for (let sending = 0; sending < 6; sending++) {
      const copies = task.key && random.chance(0.15) ? random.int(2, 3) : 1;
      const outcomes = await Promise.all(Array.from({ length: copies }, () => attempt(task, anyProcess())));
      const unsure = ({ kind, code }: { kind: string; code?: string }) =>
        kind === "silence" || (kind === "fault" && code === "OUTCOME_UNKNOWN");
      const mayRepeat = (outcome: Outcome) =>
        (outcome.kind === "fault" && NOT_EXECUTED.has(outcome.code)) || (unsure(outcome) && task.key !== undefined);
      if (!outcomes.every(mayRepeat)) return;
      await scheduler.sleep(random.between(1, 2000));
    }
  }

  async function client(tasks: Task[]): Promise<void> {
    const together = crowded || random.chance(0.4);
    const all: Promise<void>[] = [];
    for (const task of tasks) {
      if (!together || random.chance(0.4))
        await scheduler.sleep(random.between(0, crowded ? 20 : random.pick([5, 400])));
      const performed = perform(task);
      if (together) all.push(performed);
      else await performed;
    }
    await Promise.all(all);
  }

  async function crashes(): Promise<void> {
    if (!random.chance(0.25)) return;
    await scheduler.sleep(random.between(0, 1500));
    const index = random.int(0, 1);
    at(index).crash();
    run.calm = false;
    count(run, "crashes");
    const { faults, name } = at(index).journal;
    scheduler.note(() => `${name} is killed`);
    processes[index] = start(`${name}'`, faults);
  }

  /** The primary is lost for good, and what its standby does not have with it. */
  async function failovers(): Promise<void> {
    for (let times = random.int(0, 2); times > 0; times--) {
      await scheduler.sleep(random.between(0, 1200));
      if (run.databaseHolds) continue;
      scheduler.note(() => "the standby takes over");
      if (database.failOver()) count(run, "failovers that lost something");
      const seq = Number(database.head.seq);
      for (const attempt of run.waiting) attempt.sentSeq = Math.min(attempt.sentSeq, seq);
      for (const attempt of run.attempts) attempt.overtaken ||= attempt.answeredSeq > seq;
    }
  }

  /** An operator corrects the database server's clock, forwards or backwards. */
  async function clockSteps(): Promise<void> {
    for (let step = random.int(0, 2); step > 0; step--) {
      await scheduler.sleep(random.between(0, 800));
      database.stepClock(random.between(-LONGEST_CLOCK_STEP_MS, LONGEST_CLOCK_STEP_MS));
    }
  }

  async function scenario(): Promise<void> {
    let id = 0;
    const opening = openingCommands(BEGINNING + Math.round(random.between(300, 3000)));
    for (const command of opening) await perform({ id, actor: `task:${id++}`, command: () => command, key: undefined });
    crowded = random.chance(0.4);
    const faults = anyFaults(random, crowded);
    const { linkLost, ...ofDatabase } = faults;
    run.databaseHolds = Object.values(ofDatabase).every((rate) => rate === 0 || Array.isArray(rate));
    run.calm = run.databaseHolds && linkLost === 0;
    for (const { journal } of processes) journal.faults = faults;
    const [mostClients, mostTasks] = crowded ? [8, 16] : [5, 9];
    const clients = Array.from({ length: random.int(2, mostClients) }, () =>
      Array.from({ length: random.int(2, mostTasks) }, () => anyTask(id++, random)),
    );
    await Promise.all([...clients.map(client), crashes(), failovers(), clockSteps()]);
    for (const { journal } of processes) journal.faults = NO_FAULTS;
    for (const index of [0, 1]) await probe(index, id++);
  }

  /** Whatever happened, a process serves again once the database does. */
  async function probe(index: number, id: number): Promise<void> {
    const deposit = { type: "recordDeposit", provider: "probe", traderId: "u0", amountMicro: 1n } as const;
    const task: Task = {
      id,
      actor: `task:${id}`,
      command: () => ({ ...deposit, reference: String(id) }),
      key: undefined,
    };
    run.tasks.push(task);
    const outcome = await attempt(task, at(index));
    if (outcome.kind !== "done") run.hanging.push(`process ${index} answers ${JSON.stringify(outcome)} to a probe`);
  }

  let over = false;
  const finished = scenario().then(() => {
    over = true;
  });
  await scheduler.run(() => over || scheduler.now > LONGEST_MS);
  if (over) await finished;
  else run.hanging.push(scheduler.now > LONGEST_MS ? "no end in ten minutes" : "nothing is left to happen");
  return run;
}
