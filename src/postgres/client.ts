import { leaveServer } from "./client-sockets.ts";
import { ConnectionLost, classify, confirmed, leavesServer, type Sql } from "./connect.ts";
import type { Loan } from "./lending.ts";

/**
 * The journal's access to the database: statements that always end in one of the two ways that `Journal` names.
 *
 * A client of the driver is discarded with the first connection that it loses. The driver (postgres 3.4.9) never
 * answers a query sent between a connection's error and its close, which is when the reader of the error sends the next
 * query. It also rejects the first query of the next connection with the old connection's error.
 */
export class Client {
  readonly #open: () => Sql;
  readonly #deadlineMs: number;
  /** Undefined if the client has its own connections. */
  readonly #loan: Loan | undefined;
  #sql: Sql;
  #isClosed = false;

  /**
   * @param open creates a new client
   * @param deadlineMs when an unanswered statement counts as lost
   * @param lend borrows the connections; `close` closes them when another client needs them
   */
  constructor(open: () => Sql, deadlineMs: number, lend?: (close: () => Promise<unknown>) => Loan) {
    this.#open = open;
    this.#deadlineMs = deadlineMs;
    this.#sql = open();
    this.#loan = lend?.(() => this.#leave());
  }

  /** @throws StatementFailed, ConnectionLost, OVERLOADED if no connection was lent in time, or an error of `statement` itself */
  use<T>(statement: (sql: Sql) => PromiseLike<T>, deadlineMs = this.#deadlineMs): Promise<T> {
    const send = () => this.#send(statement, deadlineMs);
    return this.#loan ? this.#loan.use(send) : send();
  }

  /** Begins work that needs the same connection throughout. Resolves to a function that ends the work. */
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

  /** A statement that changes something. @throws also Unconfirmed if the database warned while it ran */
  write<T>(statement: (sql: Sql) => PromiseLike<T>, deadlineMs?: number): Promise<T> {
    return this.use((sql) => confirmed(sql, statement(sql)), deadlineMs);
  }

  /** Abandons the connection with everything that is open on it. */
  renew(): void {
    const left = this.#sql;
    leaveServer(left);
    // A client opened after the close would never be closed, and keep the process from exiting.
    if (!this.#isClosed) this.#sql = this.#open();
    void left.end({ timeout: 0 });
  }

  /** Waits at most 5 s for statements in progress. Later statements count as lost. */
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

/** If a network drops all packets, no error arrives for minutes, and the server's own timeout does not help. */
export async function withinDeadline<T>(answer: PromiseLike<T>, deadlineMs: number): Promise<T> {
  const { promise: silence, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new ConnectionLost(new Error("No answer in time"))), deadlineMs);
  try {
    return await Promise.race([answer, silence]);
  } finally {
    clearTimeout(timer);
  }
}
