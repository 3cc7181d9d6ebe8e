import { ConnectionLost, classify, type Sql } from "./connect.ts";

/**
 * The journal's way to the database: statements that always end, in one of the two ways that `Journal` names.
 *
 * A client of the driver is thrown away with the first connection that it loses. The driver (postgres 3.4.9) never
 * answers a query that is sent between a connection's error and its close, which is exactly when whoever hears of the
 * error sends the next one, and it rejects the first query of the next connection with the old connection's error.
 */
export class Client {
  readonly #open: () => Sql;
  readonly #deadlineMs: number;
  #sql: Sql;

  /**
   * @param open makes a fresh client
   * @param deadlineMs after which an unanswered statement counts as lost; later than the server's own timeout
   */
  constructor(open: () => Sql, deadlineMs: number) {
    this.#open = open;
    this.#deadlineMs = deadlineMs;
    this.#sql = open();
  }

  /** @throws StatementFailed, ConnectionLost, or the error of our own that broke the statement. */
  async use<T>(statement: (sql: Sql) => PromiseLike<T>): Promise<T> {
    const sql = this.#sql;
    try {
      return await withinDeadline(statement(sql), this.#deadlineMs);
    } catch (error) {
      const failure = classify(error);
      if (failure instanceof ConnectionLost && this.#sql === sql) {
        this.#sql = this.#open();
        void sql.end({ timeout: 0 });
      }
      throw failure;
    }
  }

  async close(): Promise<void> {
    await this.#sql.end({ timeout: 5 });
  }
}

/** A network that swallows everything gives no error for minutes; the server's timeout cannot be heard through it. */
export async function withinDeadline<T>(answer: PromiseLike<T>, deadlineMs: number): Promise<T> {
  const { promise: silence, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new ConnectionLost(new Error("No answer in time"))), deadlineMs);
  try {
    return await Promise.race([answer, silence]);
  } finally {
    clearTimeout(timer);
  }
}
