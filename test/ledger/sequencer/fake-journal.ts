import type { Need, Table } from "../../../src/engine/rows.ts";
import type { Batch, Head } from "../../../src/ledger/commit.ts";
import type { HeadReading, Journal, Turn } from "../../../src/ledger/journal.ts";
import type { Loaded } from "../../../src/ledger/load.ts";
import { ConnectionLost, StatementFailed, Unconfirmed } from "../../../src/postgres/connect.ts";
import { type FakeDatabase, failedWith, type Session } from "./fake-database.ts";
import type { Scheduler } from "./scheduler.ts";

/** Probabilities per statement, and when nothing gets through at all. */
export interface Faults {
  /** The connection is gone before the statement reaches the server. */
  neverSent: number;
  /** The statement takes effect, the answer does not arrive. */
  answerLost: number;
  /** The caller hears that the connection is lost; the statement takes effect later. */
  zombie: number;
  /** The server refuses the statement, for reasons of its own (a timeout, no memory). */
  failed: number;
  /** The server refuses the statement, because another one met it at the same rows. */
  conflict: number;
  /** The statement takes effect on this server, which warns that it did not wait for its standby. */
  warned: number;
  /** The statement takes effect, and the answer is not the one that was asked for. */
  misshapen: number;
  /** The idle connection dies unnoticed; the statement travels on a new one, outside the transaction begun before. */
  silentDeath: number;
  /** A statement that takes seconds. */
  slow: number;
  /** Per message between two processes: their connection breaks behind it, or before a reply. */
  linkLost: number;
  /** Milliseconds of the simulation during which the database cannot be reached. */
  outage: [from: number, to: number];
  /** Likewise: during these no commit is waited for, and each is warned about. */
  standbyAway: [from: number, to: number];
}

export const NO_FAULTS: Faults = {
  neverSent: 0,
  answerLost: 0,
  zombie: 0,
  failed: 0,
  conflict: 0,
  warned: 0,
  misshapen: 0,
  silentDeath: 0,
  slow: 0,
  linkLost: 0,
  outage: [0, 0],
  standbyAway: [0, 0],
};

const FATES = ["neverSent", "answerLost", "zombie", "failed", "conflict", "warned", "misshapen"] as const;
type Fate = "answered" | (typeof FATES)[number];

export type Statement =
  | "readHead"
  | "confirm"
  | "load"
  | "commit"
  | "fence"
  | "contains"
  | "turn"
  | "begin"
  | "lock"
  | "end"
  | "rollback";
/** Those whose acknowledgement is of a write: it is waited for, and a warning is heard. */
const WRITES: readonly Statement[] = ["commit", "fence", "confirm", "end"];

/** One way of a statement at the most. Reads do not wait for the disk. */
const WRITE_MS = 3;
const READ_MS = 0.5;
/** One way of a slow statement at the most. */
export const SLOWEST_MS = 3000;
/** As in src/ledger/journal.ts. */
const TURN_DEADLINE_MS = 3000;

type Ending = "in" | "moved" | "failed" | "unknown";

/** One process's way to the database. Its statements and their answers take time, get lost, or come late. */
export class FakeJournal implements Journal {
  faults: Faults;
  /** Fates decided in advance: each is that of the next statement of its kind. */
  readonly plan: { statement: Statement; fate: Fate }[] = [];
  /** For tests that act at a certain statement. */
  onSend: ((statement: Statement) => void) | undefined;
  onQuery: ((table: Table) => Promise<unknown> | undefined) | undefined;
  onPair: ((endings: `${Ending}, then ${Ending}`) => void) | undefined;
  onTurn: (() => void) | undefined;
  /** How often each statement was sent. */
  readonly sent = new Map<Statement, number>();
  readonly name: string;
  readonly #database: FakeDatabase;
  readonly #scheduler: Scheduler;
  #session: Session;
  #crashed = false;
  #turn: Session | undefined;
  #underWay: Promise<Ending> | undefined;

  constructor(name: string, database: FakeDatabase, scheduler: Scheduler, faults: Faults) {
    this.name = name;
    this.#database = database;
    this.#scheduler = scheduler;
    this.faults = faults;
    this.#session = database.connect();
  }

  readHead(): Promise<HeadReading> {
    return this.#send("readHead", (session) => this.#reading(session));
  }

  confirmHead(): Promise<HeadReading> {
    return this.#send("confirm", (session) => this.#reading(session));
  }

  async load(needs: Need[]): Promise<Loaded[]> {
    const tables = new Map<Table, string[]>();
    for (const { table, key } of needs) tables.set(table, [...(tables.get(table) ?? []), key]);
    // One query per table, each when it gets there: without a snapshot they may see different states.
    const parts = await Promise.all(
      [...tables].map(async ([table, keys]) => {
        await this.onQuery?.(table);
        return this.#query(() => keys.flatMap((key) => this.#database.read(table, key)));
      }),
    );
    return parts.flat();
  }

  loadTouched(from: Head): Promise<Loaded[] | null> {
    return this.#query(() => this.#database.touched(from));
  }

  /** Those of the ids that are trades. */
  findTrades(ids: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#query(() => new Set(this.#database.trades.map(({ id }) => id).filter((id) => ids.includes(id))));
  }

  /** On a connection of its own, whose loss may go unnoticed: then the server ends it after a while. */
  takeTurn(known: Head | null): Promise<Turn> {
    const session = this.#database.connect();
    const fate = this.#fate("turn");
    return new Promise((resolve, reject) => {
      const after = (run: () => void): void => void this.#scheduler.after(this.#latency(), run);
      const hear = (give: () => void) => after(() => this.#crashed || give());
      this.#scheduler.after(
        TURN_DEADLINE_MS,
        () => this.#crashed || reject(new ConnectionLost(new Error("simulated"))),
      );
      if (fate === "failed" || fate === "conflict") {
        hear(() => reject(refusalOf(fate)));
        return;
      }
      if (fate === "neverSent") {
        hear(() => reject(new ConnectionLost(new Error("simulated"))));
        return;
      }
      after(() =>
        this.#database.takeTurn(session, (granted) => {
          if (!granted) {
            hear(() => reject(failedWith("55P03", "canceling statement due to lock timeout")));
            return;
          }
          this.onTurn?.();
          this.#scheduler.note(() => `${this.name} has the turn`);
          // The session of a dead process is ended by the server, which may take a while to notice.
          this.#turn = session;
          const reading = this.#reading(session);
          const end = () => {
            const stalls = this.#scheduler.random.chance(this.faults.answerLost);
            if (!stalls) after(() => this.#database.endTurn(session));
          };
          // What changed is read after the head, so another process may have written in between.
          if (fate === "answered" || fate === "warned")
            after(() => {
              const touched = known && this.#database.touched(known);
              hear(() => resolve({ reading, touched, end }));
            });
          else hear(() => reject(new ConnectionLost(new Error("simulated"))));
        }),
      );
    });
  }

  commit(batch: Batch): Promise<{ swapped: boolean; now: number }> {
    // What is sent is what the rows are now: the sequencer goes on to change its own objects.
    const sent: Batch = {
      ...batch,
      writes: batch.writes.map((write) => ({ ...write, row: { ...write.row } }) as never),
    };
    const answer = this.#send("commit", (session) => this.#database.commit(session, sent));
    this.#pair(
      answer.then(
        ({ swapped }) => (swapped ? "in" : "moved"),
        (error) => (error instanceof StatementFailed ? "failed" : "unknown"),
      ),
    );
    return answer;
  }

  /** Tells how both of two commits ended that were under way at once. */
  #pair(ended: Promise<Ending>): void {
    const first = this.#underWay;
    this.#underWay = ended;
    void Promise.all([first, ended]).then(([one, two]) => {
      if (one) this.onPair?.(`${one}, then ${two}`);
      if (this.#underWay === ended) this.#underWay = undefined;
    });
  }

  fence(): Promise<HeadReading> {
    return this.#send("fence", (session) => {
      this.#database.head = { ...this.#database.head, epoch: this.#database.head.epoch + 1n };
      return this.#reading(session);
    });
  }

  contains(entry: { seq: bigint; hash: string }): Promise<boolean> {
    return this.#send("contains", () => this.#database.contains(entry));
  }

  /** As in src/ledger/journal.ts: plain begin and commit, which a connection lost in between leaves on their own. */
  async exclusively<T>(work: (reading: HeadReading) => Promise<T>): Promise<T> {
    await this.#send("begin", (session) => {
      session.transaction = { pending: null, aborted: false };
    });
    try {
      const reading = await this.#send("lock", (session) => {
        if (session.transaction) this.#database.lock(session);
        return this.#reading(session);
      });
      const result = await work(reading);
      await this.#send("end", (session) => this.#database.finish(session, "commit"));
      return result;
    } catch (error) {
      await this.#send("rollback", (session) => this.#database.finish(session, "rollback")).catch(() => undefined);
      throw error;
    }
  }

  async close(): Promise<void> {}

  /** The process is killed: its sent statements may still arrive, and their answers are lost. */
  crash(): void {
    this.#crashed = true;
    this.#endLater(this.#session);
    const turn = this.#turn;
    if (turn) this.#scheduler.after(this.#scheduler.random.between(0, 2000), () => this.#database.endTurn(turn));
  }

  /** The next statement travels on a new connection, and no caller is told. */
  loseIdleConnection(): void {
    this.#endLater(this.#session);
    this.#session = this.#database.connect();
  }

  #reading(session: Session): HeadReading {
    const head = session.transaction?.pending?.next ?? this.#database.head;
    return { head: { ...head }, now: this.#database.clock() };
  }

  /** A statement on the one connection for writes. */
  #send<T>(statement: Statement, effect: (session: Session) => T): Promise<T> {
    const { random } = this.#scheduler;
    const wantsLock = ["commit", "fence", "confirm", "lock"].includes(statement);
    const endsTransaction = statement === "end" || statement === "rollback";
    this.onSend?.(statement);
    // The driver notices by itself that an idle connection is gone.
    const isIdle = this.#session.hangUps.size === 0;
    if (this.#session.ended || (isIdle && random.chance(this.faults.silentDeath))) this.loseIdleConnection();
    const session = this.#session;
    return new Promise((resolve, reject) => {
      if (this.#crashed) return;
      let heard = false;
      const hear = (at: number, give: () => void): void => {
        this.#scheduler.after(at - this.#scheduler.now, () => {
          if (this.#crashed || heard) return;
          heard = true;
          session.hangUps.delete(hangUp);
          give();
        });
      };
      const hangUp = () =>
        hear(this.#scheduler.now + this.#latency(), () => reject(new ConnectionLost(new Error("simulated"))));
      session.hangUps.add(hangUp);
      const lose = () => this.#breakConnection(session);
      const answer = (give: () => void) => {
        // Answers of one connection arrive in the order of the statements.
        session.answersUntil = Math.max(this.#scheduler.now + this.#latency(), session.answersUntil);
        hear(session.answersUntil, () => {
          if (!this.#unreachable()) return give();
          reject(new ConnectionLost(new Error("simulated")));
          this.#endLater(session);
          lose();
        });
      };
      const fate = this.#fate(statement);
      const run = (then: (outcome: () => void) => void) => () => {
        try {
          if (session.transaction?.aborted && !endsTransaction) throw failedWith("25P02", "transaction is aborted");
          // Only a commit waits for the standby, and a statement within a transaction is none.
          const commits = WRITES.includes(statement) && (statement === "end" || session.transaction === null);
          const waits = fate === "answered" || fate === "misshapen";
          if (commits && !waits) this.#database.leaveStandbyBehind();
          const nothingBegun = statement === "end" && session.transaction === null;
          const value = effect(session);
          if (commits && waits) this.#database.catchUp();
          if (nothingBegun) throw new Unconfirmed("there is no transaction in progress");
          if ((commits && fate === "warned") || (WRITES.includes(statement) && fate === "misshapen"))
            throw new Unconfirmed(fate);
          then(() => resolve(value));
        } catch (error) {
          if (session.transaction) session.transaction.aborted = true;
          then(() => reject(error));
        }
      };
      this.#scheduler.note(() => `${this.name} ${statement}: ${fate}`);
      switch (fate) {
        case "answered":
        case "warned":
        case "misshapen":
          this.#database.send(session, { wantsLock, ms: this.#latency(), run: run(answer) });
          return;
        case "neverSent":
          this.#endLater(session);
          return lose();
        case "answerLost": {
          const lost = () => {
            this.#database.end(session);
            lose();
          };
          this.#database.send(session, { wantsLock, ms: this.#latency(), run: run(lost) });
          return;
        }
        case "zombie": {
          const ms = random.between(0, random.pick([50, 1500, 12_000]));
          this.#database.send(session, { wantsLock, ms, run: run(() => this.#database.end(session)) });
          return lose();
        }
        case "failed":
        case "conflict": {
          const refuse = () => {
            if (endsTransaction) this.#database.finish(session, "rollback");
            else if (session.transaction) session.transaction.aborted = true;
            answer(() => reject(refusalOf(fate)));
          };
          this.#database.send(session, { wantsLock: false, ms: this.#latency(), run: refuse });
        }
      }
    });
  }

  /** The connection is gone for its process: so are the answers to everything that is under way on it. */
  #breakConnection(session: Session): void {
    if (this.#session === session) this.#session = this.#database.connect();
    for (const hangUp of session.hangUps) hangUp();
  }

  /** A query on another connection, outside any transaction. */
  #query<T>(read: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#crashed) return;
      const fate = this.#fate("load");
      this.#scheduler.after(this.#latency(READ_MS), () => {
        const value = read();
        this.#scheduler.after(this.#latency(READ_MS), () => {
          if (this.#crashed) return;
          if (fate === "answered") resolve(value);
          else if (fate === "failed" || fate === "conflict") reject(refusalOf(fate));
          else reject(new ConnectionLost(new Error("simulated")));
        });
      });
    });
  }

  #fate(statement: Statement): Fate {
    const { random } = this.#scheduler;
    this.sent.set(statement, (this.sent.get(statement) ?? 0) + 1);
    const planned = this.plan.findIndex((each) => each.statement === statement);
    if (planned >= 0) return this.plan.splice(planned, 1)[0]?.fate ?? "answered";
    if (this.#unreachable()) return "neverSent";
    if (WRITES.includes(statement) && this.#during(this.faults.standbyAway)) return "warned";
    let dice = random.next();
    for (const fate of FATES) {
      dice -= this.faults[fate];
      if (dice < 0) return fate;
    }
    return "answered";
  }

  #unreachable(): boolean {
    return this.#during(this.faults.outage);
  }

  #during([from, to]: [number, number]): boolean {
    return this.#scheduler.now >= from && this.#scheduler.now < to;
  }

  #latency(longestMs = WRITE_MS): number {
    const { random } = this.#scheduler;
    return random.chance(this.faults.slow) ? random.between(100, SLOWEST_MS) : random.between(0.05, longestMs);
  }

  /** The server notices only after a while that the client is gone: until then the session keeps its lock. */
  #endLater(session: Session): void {
    this.#scheduler.after(this.#scheduler.random.between(0, 2000), () => this.#database.end(session));
  }
}

function refusalOf(fate: "failed" | "conflict") {
  return fate === "failed"
    ? failedWith("57014", "canceling statement due to statement timeout")
    : failedWith("40001", "could not serialize access due to concurrent update");
}
