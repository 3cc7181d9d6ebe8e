import { leaveServer } from "./client-sockets.ts";
import { ConnectionLost, classify, confirmed, leavesServer, type Sql } from "./connect.ts";
import type { Loan } from "./lending.ts";

/**
 * The journal's way to the database: statements that always end, in one of the two ways that `Journal` names.
 *
 * A client of the driver is thrown away with the first connection that it loses. The driver (postgres 3.4.9) never
 * answers a query that is sent between a connection's error and its close, which is when the reader of the error sends
 * the next one. It also rejects the first query of the next connection with the old connection's error.
 */
export class Client {
  readonly #open: () => Sql;
  readonly #deadlineMs: number;
  /** Undefined where the client's connections are its own. */
  readonly #loan: Loan | undefined;
  #sql: Sql;
  #isClosed = false;

  /**
   * @param open makes a fresh client
   * @param deadlineMs after which an unanswered statement counts as lost
   * @param lend borrows the connections, which are closed by `close` when another client needs them
   */
  constructor(open: () => Sql, deadlineMs: number, lend?: (close: () => Promise<unknown>) => Loan) {
    this.#open = open;
    this.#deadlineMs = deadlineMs;
    this.#sql = open();
    this.#loan = lend?.(() => this.#leave());
  }

  /** @throws StatementFailed, ConnectionLost, OVERLOADED where no connection was lent in time, or an error that `statement` itself threw */
  use<T>(statement: (sql: Sql) => PromiseLike<T>, deadlineMs = this.#deadlineMs): Promise<T> {
    const send = () => this.#send(statement, deadlineMs);
    return this.#loan ? this.#loan.use(send) : send();
  }

  /** Begins work that needs the same connection from its first statement to its last. Resolves to what ends it. */
  async pin(): Promise<() => void> {
    return this.#loan ? this.#loan.pin() : () => {};
  }

  async #send<T>(statement: (sql: Sql) => PromiseLike<T>, deadlineMs: number): Promise<T> {
    const sql = this.#sql;
    try {
      return await withinDeadline(statement(sql), deadlineMs);
    } catch (error) {
      const failure = classify(error);
      if (leavesServer(failure) && this.#sql === sql) this.renew();
      throw failure;
    }
  }

  /** A statement that changes something. @throws Unconfirmed besides, when the database warned while it ran */
  write<T>(statement: (sql: Sql) => PromiseLike<T>, deadlineMs?: number): Promise<T> {
    return this.use((sql) => confirmed(sql, statement(sql)), deadlineMs);
  }

  /** Leaves the connection behind, with whatever is open on it. */
  renew(): void {
    const left = this.#sql;
    leaveServer(left);
    // A client opened after the close would be closed by nothing, and keep the process from ending.
    if (!this.#isClosed) this.#sql = this.#open();
    void left.end({ timeout: 0 });
  }

  /** Waits 5 s at the most for what is in flight. Whatever is asked afterwards counts as lost. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#sql.end({ timeout: 5 });
    this.#loan?.release();
  }

  async #leave(): Promise<void> {
    if (this.#isClosed) return;
    const left = this.#sql;
    this.#sql = this.#open();
    await left.end({ timeout: 1 });
  }
}

/** A network that drops all packets gives no error for minutes, and the server's own timeout does not get through it. */
export async function withinDeadline<T>(answer: PromiseLike<T>, deadlineMs: number): Promise<T> {
  const { promise: silence, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new ConnectionLost(new Error("No answer in time"))), deadlineMs);
  try {
    return await Promise.race([answer, silence]);
  } finally {
    clearTimeout(timer);
  }
}
