import type postgres from "postgres";
import { walletOf } from "../../../src/domain/accounts.ts";
import { type AuditEntry, GENESIS_HASH } from "../../../src/domain/audit/audit-link.ts";
import { type Position, positionKey, type StoredAnswer, type Table, type Tables } from "../../../src/engine/rows.ts";
import type { Batch, Head } from "../../../src/ledger/commit.ts";
import type { Loaded } from "../../../src/ledger/load.ts";
import { StatementFailed } from "../../../src/postgres/connect.ts";
import type { Scheduler } from "./scheduler.ts";

type Row = Tables[Table];

/** A connection as the server sees it. */
export interface Session {
  transaction: { pending: Batch | null; aborted: boolean } | null;
  ended: boolean;
  /** Each tells the caller of a statement under way that there will be no answer. */
  readonly hangUps: Set<() => void>;
  /** When the last answer that is under way arrives. */
  answersUntil: number;
  /** Statements that were sent and not executed yet, in order. */
  readonly line: { arrived: boolean; wantsLock: boolean; run: () => void }[];
}

export function failedWith(sqlState: string, message: string): StatementFailed {
  return new StatementFailed(Object.assign(new Error(message), { code: sqlState }) as postgres.PostgresError);
}

/** What the simulation begins at, by the database's clock. */
export const BEGINNING = 1_800_000_000_000;

const TURN_WAIT_MS = 1500;
const TURN_IDLE_MS = 1000;

/** Rows that grow and never change. */
const JOURNALS = new Set<Table>(["market", "receipt", "assessment", "inboundDelivery", "clarification"]);
/** Rows that live in a process's memory only. */
const DERIVED = new Set<Table>(["portfolio", "holders", "keyring", "clarifications"]);

/**
 * The server: committed rows, the lock on the head row, and the commit statement with the effects and the refusals of
 * the real one (src/ledger/commit.ts). Everything happens at once when it happens; delays are the journals' business.
 */
export class FakeDatabase {
  head: Head = { seq: 0n, hash: GENESIS_HASH, epoch: 0n, ts: 0 };
  readonly rows = new Map<string, Row>();
  readonly audit: AuditEntry[] = [];
  readonly transfers: Batch["transfers"] = [];
  readonly trades: Batch["trades"] = [];
  /** The clock at the latest moment at which each entry could still have been refused. */
  readonly committedAt: number[] = [];
  /** Answers stored, with the entry at the end of the batch that stored them. */
  readonly answeredAt: { seq: number; answer: StoredAnswer }[] = [];
  /** What a failover leaves: the state before the first commit that no standby has. Null while the standby has all. */
  #replicated: (() => void) | null = null;
  #offset = BEGINNING;
  #highestOffset = BEGINNING;
  readonly #scheduler: Scheduler;
  #lockedBy: Session | null = null;
  #turnOf: Session | null = null;
  readonly #turnWaiting: { session: Session; give: (granted: boolean) => void }[] = [];
  readonly #sessions = new Set<Session>();
  readonly #waiting: { session: Session; run: () => void }[] = [];

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  connect(): Session {
    const session: Session = { transaction: null, ended: false, hangUps: new Set(), answersUntil: 0, line: [] };
    this.#sessions.add(session);
    return session;
  }

  clock(): number {
    return this.#offset + this.#scheduler.now;
  }

  /** The clock's time without the times it was set back. */
  latestClock(): number {
    return this.#highestOffset + this.#scheduler.now;
  }

  /** An operator sets the server's clock. */
  stepClock(ms: number): void {
    this.#offset += ms;
    this.#highestOffset = Math.max(this.#highestOffset, this.#offset);
  }

  /** A statement arrives after a while and runs after those sent before it, once the head row is free if it wants its lock. */
  send(session: Session, { wantsLock, ms, run }: { wantsLock: boolean; ms: number; run: () => void }): void {
    const statement = { arrived: false, wantsLock, run };
    session.line.push(statement);
    this.#scheduler.after(ms, () => {
      statement.arrived = true;
      if (session.line[0] === statement) this.#executeNext(session);
    });
  }

  #executeNext(session: Session): void {
    const [next] = session.line;
    if (!next?.arrived || session.ended) return;
    const run = () => {
      next.run();
      session.line.shift();
      this.#executeNext(session);
    };
    if (next.wantsLock && this.#lockedBy !== null && this.#lockedBy !== session) this.#waiting.push({ session, run });
    else run();
  }

  /** Gives the session the turn: at once, after those who wait already, or not at all when it takes too long. */
  takeTurn(session: Session, give: (granted: boolean) => void): void {
    const waiting = { session, give };
    this.#turnWaiting.push(waiting);
    this.#scheduler.after(TURN_WAIT_MS, () => {
      const index = this.#turnWaiting.indexOf(waiting);
      if (index < 0) return;
      this.#turnWaiting.splice(index, 1);
      give(false);
    });
    this.#nextTurn();
  }

  #nextTurn(): void {
    while (this.#turnOf === null && this.#turnWaiting.length > 0) {
      const next = this.#turnWaiting.shift();
      if (!next || next.session.ended) {
        next?.give(false);
        continue;
      }
      this.#turnOf = next.session;
      // The server ends a transaction in which nothing happens.
      this.#scheduler.after(TURN_IDLE_MS, () => this.endTurn(next.session));
      next.give(true);
    }
  }

  endTurn(session: Session): void {
    session.ended = true;
    this.#sessions.delete(session);
    if (this.#turnOf !== session) return;
    this.#turnOf = null;
    this.#nextTurn();
  }

  lock(session: Session): void {
    this.#lockedBy = session;
  }

  /**
   * What is written from now on is on this server alone: the wait for the standby was cancelled. It stays so until the
   * next write that is waited for, which takes everything before it along.
   */
  leaveStandbyBehind(): void {
    if (this.#replicated) return;
    const [head, rows, lengths] = [this.head, new Map(this.rows), this.#journals.map(({ length }) => length)];
    this.#replicated = () => {
      this.head = head;
      this.rows.clear();
      for (const [id, row] of rows) this.rows.set(id, row);
      for (const [index, journal] of this.#journals.entries()) journal.length = lengths[index] ?? 0;
    };
  }

  /** A write has been waited for. */
  catchUp(): void {
    this.#replicated = null;
  }

  /** The server is lost, and the standby takes its place. Returns whether anything was lost with it. */
  failOver(): boolean {
    const restore = this.#replicated;
    this.#replicated = null;
    this.#waiting.length = 0;
    this.#lockedBy = null;
    this.#turnOf = null;
    for (const { give } of this.#turnWaiting.splice(0)) give(false);
    for (const session of this.#sessions) {
      session.ended = true;
      for (const hangUp of session.hangUps) hangUp();
    }
    this.#sessions.clear();
    restore?.();
    return restore !== null;
  }

  get #journals(): unknown[][] {
    return [this.audit, this.transfers, this.trades, this.committedAt, this.answeredAt];
  }

  /** Ends the session's transaction. */
  finish(session: Session, how: "commit" | "rollback"): void {
    const { transaction } = session;
    session.transaction = null;
    if (how === "commit" && transaction?.pending && !transaction.aborted) this.#apply(transaction.pending);
    if (this.#lockedBy !== session) return;
    this.#lockedBy = null;
    while (this.#lockedBy === null && this.#waiting.length > 0) {
      const [next] = this.#waiting.splice(this.#scheduler.random.int(0, this.#waiting.length - 1), 1);
      if (next && !next.session.ended) next.run();
    }
  }

  /** The server has noticed that the client is gone. */
  end(session: Session): void {
    if (session.ended) return;
    session.ended = true;
    this.#sessions.delete(session);
    this.finish(session, "rollback");
  }

  /** The one statement. */
  commit(session: Session, batch: Batch): { swapped: boolean; now: number } {
    const { expected, before } = batch;
    const head = session.transaction?.pending?.next ?? this.head;
    const now = this.clock();
    const stands = head.seq === expected.seq && head.hash === expected.hash && this.head.epoch === expected.epoch;
    if (!stands || (before !== null && now >= before)) return { swapped: false, now };
    this.#check(batch);
    for (let entry = 0; entry < batch.audit.length; entry++) this.committedAt[Number(expected.seq) + entry] = now;
    if (session.transaction) session.transaction.pending = batch;
    else this.#apply(batch);
    return { swapped: true, now };
  }

  contains({ seq, hash }: { seq: bigint; hash: string }): boolean {
    return this.audit[Number(seq) - 1]?.hash === hash;
  }

  read(table: Table, key: string): Loaded[] {
    if (table === "holders") {
      const holders = this.#positions((position) => position.marketId === key);
      const wallets = [...new Set(holders.map(({ traderId }) => walletOf(traderId)))];
      return [{ table, key, row: holders }, ...wallets.flatMap((wallet) => this.read("account", wallet))];
    }
    if (table === "portfolio") {
      const open = this.#positions(
        ({ traderId, marketId }) => traderId === key && this.row("marketState", marketId)?.status !== "settled",
      );
      const exposureMicro = open.reduce((sum, { costMicro }) => sum + costMicro, 0n);
      return [
        { table, key, row: { exposureMicro } },
        ...open.map(
          (row): Loaded => ({ table: "position", key: positionKey(row.traderId, row.marketId, row.side), row }),
        ),
      ];
    }
    if (table === "clarifications") {
      const texts = this.all("clarification").filter(({ marketId }) => marketId === key);
      return [{ table, key, row: texts.toSorted((a, b) => a.position - b.position) }];
    }
    if (table === "keyring") return [{ table, key, row: this.all("apiKey") }];
    const row = this.rows.get(`${table}/${key}`);
    return [{ table, key, row: row ? ({ ...row } as Row) : null }];
  }

  /** As src/ledger/touched.ts finds them. */
  touched(from: Head): Loaded[] | null {
    const after = Number(from.seq);
    const entries = this.audit.slice(after);
    if (this.audit[after - 1]?.hash !== from.hash || !entries.every(({ type }) => type === "trade.executed"))
      return null;
    const since = <T extends { seq: bigint }>(rows: T[]) => rows.filter(({ seq }) => seq > from.seq);
    const trades = since(this.trades);
    const accounts = new Set(since(this.transfers).flatMap(({ debit, credit }) => [debit, credit]));
    const positions = new Set(trades.map((trade) => positionKey(trade.traderId, trade.marketId, trade.side)));
    return [
      ...[...positions].flatMap((key) => this.read("position", key)),
      ...[...accounts].flatMap((key) => this.read("account", key)),
      ...[...new Set(trades.map(({ marketId }) => marketId))].flatMap((key) => this.read("marketState", key)),
    ];
  }

  row<T extends Table>(table: T, key: string): Tables[T] | undefined {
    return this.rows.get(`${table}/${key}`) as Tables[T] | undefined;
  }

  all<T extends Table>(table: T): Tables[T][] {
    return [...this.rows].filter(([id]) => id.startsWith(`${table}/`)).map(([, row]) => ({ ...row }) as Tables[T]);
  }

  #positions(wanted: (position: Position) => boolean): Position[] {
    return this.all("position").filter(wanted);
  }

  /** Refuses the batch as the statement does: constraints by name, and rows whose version is not the one read. */
  #check(batch: Batch): void {
    for (const { table, key, row } of batch.writes) {
      if (DERIVED.has(table)) continue;
      if (Object.values(row).some((value) => typeof value === "string" && value.includes("\0")))
        throw failedWith("22021", "invalid byte sequence for encoding UTF8: 0x00");
      if (table === "account" && "balanceMicro" in row && row.balanceMicro < 0n && !key.startsWith("external:"))
        throw failedWith("23514", "violates check constraint account_never_overdrawn");
      const existing = this.rows.get(`${table}/${key}`);
      if (existing && JOURNALS.has(table)) throw failedWith("23505", `${table} ${key} exists`);
      if (existing && "version" in existing && "version" in row && existing.version !== row.version)
        throw failedWith("22012", "division by zero");
    }
    for (const { id } of batch.trades)
      if (this.trades.some((trade) => trade.id === id)) throw failedWith("23505", "trade_id_unique");
  }

  #apply(batch: Batch): void {
    for (const { table, key, row } of batch.writes) {
      if (DERIVED.has(table)) continue;
      const stored = "version" in row ? { ...row, version: row.version + 1 } : { ...row };
      this.rows.set(`${table}/${key}`, stored as Row);
    }
    this.audit.push(...batch.audit);
    this.transfers.push(...batch.transfers);
    this.trades.push(...batch.trades);
    this.head = batch.next;
    for (const { table, row } of batch.writes)
      if (table === "storedAnswer") this.answeredAt.push({ seq: Number(batch.next.seq), answer: row as StoredAnswer });
    this.#scheduler.note(() => `    entry ${batch.expected.seq + 1n}: ${batch.audit.map(({ actor }) => actor)}`);
  }
}
