import { NEVER_SENT } from "../domain/unreachable.ts";
import { withinDeadline } from "./client.ts";
import { ClientLeft, leaveClient, leaveServer } from "./client-sockets.ts";
import { afterConflicts } from "./conflicts.ts";
import { ConnectionLost, classify, confirmed, leavesServer, type ReadSql, type Sql, Unconfirmed } from "./connect.ts";
import type { Loan, TenantLender } from "./lending.ts";
import { NotConnected } from "./route/dial.ts";
import { Semaphore } from "./semaphore.ts";

/**
 * A pool that outlives its connections. Its methods differ when a connection is lost, which leaves open whether a
 * statement took effect: a read is sent again, a write is not.
 */
export interface Pool {
  /** Reads; repeated once on a new connection if the first one was lost. */
  read<T>(query: (sql: ReadSql) => PromiseLike<T>): Promise<T>;
  /**
   * Sends one statement once; repeated only if it failed as a whole by a conflict at the same rows.
   * @throws OutcomeUnknown if the connection was lost during the statement, or the database warned that it may not last
   */
  write<T>(statement: (sql: Sql) => PromiseLike<T>): Promise<T>;
  /** Like `write`, for unacknowledged data such as counts: works even while changes are refused for lack of standbys. */
  note<T>(statement: (sql: Sql) => PromiseLike<T>): Promise<T>;
  /**
   * Reads several times from one snapshot: a read-only transaction, repeated once as a whole if its connection was
   * lost. Meanwhile, reads through the pool itself see other states.
   */
  snapshot<T>(query: (sql: ReadSql) => PromiseLike<T>): Promise<T>;
  /** Waits for statements in progress, at most this many seconds. Later statements are rejected. */
  end(options: { timeout: number }): Promise<void>;
}

/** The part of a pool that reads, one query at a time. */
export type Reader = Pick<Pool, "read">;

/** It is unknown whether a write took effect and will last; it is not sent again. */
export class OutcomeUnknown extends ConnectionLost {
  constructor(cause: unknown) {
    super(cause);
    this.name = "OutcomeUnknown";
  }
}

export interface PoolOptions {
  /** Connections for reads and writes; with 0 they use the snapshots' connections. */
  max: number;
  /** Connections for snapshots, one for each; opened on first use. */
  snapshots?: number;
  /** When an unanswered statement counts as lost; later than the server's own timeout. */
  deadlineMs: number;
  /** How long exclusive work waits for its connection; no limit by default. */
  waitMs?: number | undefined;
  /** Lends the connections to all tenants of a database server; by default the pool opens its own. */
  lender?: TenantLender | undefined;
}

/** How many seconds statements on other connections may still take after one connection was lost. */
const DRAIN_SEC = 10;

interface Clients {
  /** Replaced when its connections are lent to another tenant. */
  shared: Sql;
  /** Each has one connection, and runs one snapshot at a time. */
  alone: Sql[];
  /** Unanswered queries. */
  underWay: Set<Promise<unknown>>;
}

/**
 * Opens a pool; its connections are made on first use. The driver (postgres 3.4.9) never answers a query sent between a
 * connection's error and its close, and rejects the first query of the next connection with the old one's error. So all
 * clients are replaced as soon as one of them has lost a connection.
 * @param open creates a new client with this many connections
 */
export function openPool(open: (max: number) => Sql, options: PoolOptions): Pool {
  const { max, snapshots = 1, deadlineMs, waitMs, lender } = options;
  const openClients = (): Clients => ({
    shared: open(max),
    alone: Array.from({ length: snapshots }, () => open(1)),
    underWay: new Set(),
  });
  const places = new Semaphore(snapshots);
  let clients = openClients();
  // Clients opened after the pool's end would never be closed, and keep the process from exiting.
  let hasEnded = false;
  /** Closes the connections of one client, which another tenant needs; a new client takes its place. */
  const give = (size: number, replace: (used: Clients, fresh: Sql) => Sql) =>
    lender?.loan(size, async () => {
      if (!hasEnded) await replace(clients, open(size)).end({ timeout: 1 });
    });
  const sharedLoan = give(max, (used, fresh) => {
    const left = used.shared;
    used.shared = fresh;
    return left;
  });
  const loansAlone = clients.alone.map((_, place) =>
    give(1, (used, fresh) => used.alone.splice(place, 1, fresh)[0] ?? fresh),
  );

  async function once<T>(work: (clients: Clients) => PromiseLike<T>, mayRepeat = true): Promise<T> {
    if (hasEnded) throw Object.assign(new Error("The pool has ended"), { code: "CONNECTION_ENDED" });
    const used = clients;
    try {
      return await withinDeadline(untilAnswered(used, work(used)), deadlineMs);
    } catch (error) {
      // Nothing was sent, and the new clients have the places.
      if (error instanceof ClientLeft && mayRepeat) return once(work, false);
      if (used === clients && !hasEnded && leavesServer(classify(error))) {
        leaveServer(used.shared);
        clients = openClients();
        for (const sql of [used.shared, ...used.alone]) leaveClient(sql);
        void endAll(used, DRAIN_SEC).catch(() => undefined);
      }
      throw error;
    }
  }

  async function twice<T>(work: (clients: Clients) => PromiseLike<T>): Promise<T> {
    try {
      return await once(work);
    } catch (error) {
      // After the deadline no caller is waiting.
      if (hasEnded || !isLoss(error) || error instanceof ConnectionLost) throw error;
      return once(work);
    }
  }

  type Attempts = typeof once;

  /** Runs on a connection that serves one caller at a time. */
  const alone = <T>(attempts: Attempts, work: (sql: Sql) => PromiseLike<T>) =>
    places.hold(
      (place) =>
        lent(loansAlone[place], () =>
          attempts((used) => {
            const sql = used.alone[place];
            if (!sql) throw new RangeError("An exclusive place must be one of the existing places");
            return work(sql);
          }),
        ),
      waitMs,
    );
  const beside = <T>(attempts: Attempts, work: (sql: Sql) => PromiseLike<T>) =>
    max === 0 ? alone(attempts, work) : lent(sharedLoan, () => attempts(({ shared }) => work(shared)));

  const write: Pool["write"] = (statement) =>
    afterConflicts(() => beside(once, (sql) => confirmed(sql, statement(sql)))).catch((error: unknown) => {
      if (error instanceof Unconfirmed) throw new OutcomeUnknown(error);
      const wasSent = !(error instanceof NotConnected) && !NEVER_SENT.has(codeOf(error));
      throw isLoss(error) && wasSent ? new OutcomeUnknown(error) : error;
    });

  return {
    read: (query) => beside(twice, query),
    write,
    note: write,
    snapshot: (query) => alone(twice, (sql) => inOneTransaction(sql, query)),
    end: async ({ timeout }) => {
      hasEnded = true;
      await endAll(clients, timeout);
      for (const loan of [sharedLoan, ...loansAlone]) loan?.release();
    },
  };
}

function lent<T>(loan: Loan | undefined, work: () => Promise<T>): Promise<T> {
  return loan ? loan.use(work) : work();
}

/** A single client as a reader: it is not replaced, and no query is repeated. */
export function readerOf(sql: Sql): Reader {
  return { read: async (query) => query(sql) };
}

/** Identifies the transaction: a replaced connection has another backend or a later start. */
const TRANSACTION = "select pg_backend_pid() || ' ' || extract(epoch from now()) as transaction";

/**
 * Plain `begin` and `commit` on a client's only connection, which a transaction pooler also keeps together. If the connection
 * dies in between, the driver sends the following queries on the next one, outside a transaction; hence the final comparison
 * of the transaction's identity. The driver's own `begin` would write to the dead socket and end the process.
 */
async function inOneTransaction<T>(sql: Sql, query: (sql: ReadSql) => PromiseLike<T>): Promise<T> {
  try {
    const begun = transactionIn(await sql.unsafe(`begin isolation level repeatable read read only; ${TRANSACTION}`));
    const answer = await query(sql);
    if (transactionIn(await sql.unsafe(`${TRANSACTION}; commit`)) === begun) return answer;
  } catch (error) {
    if (!isLoss(error)) await sql.unsafe("rollback");
    throw error;
  }
  throw Object.assign(new Error("The snapshot's connection was lost"), { code: "SNAPSHOT_LOST" });
}

/** Several statements in one query return the rows of each. */
function transactionIn(answers: readonly unknown[]): unknown {
  return (answers as { transaction: unknown }[][]).flat()[0]?.transaction;
}

function isLoss(error: unknown): boolean {
  return classify(error) instanceof ConnectionLost;
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

function untilAnswered<T>({ underWay }: Clients, work: PromiseLike<T>): Promise<T> {
  const answer = Promise.resolve(work);
  const forget = () => underWay.delete(answer);
  underWay.add(answer);
  answer.then(forget, forget);
  return answer;
}

/**
 * Waits for running queries before it ends the clients. If queries still wait for a connection, the driver (postgres
 * 3.4.9) opens one for them and never closes it, which keeps the process from exiting. A timeout of 0 rejects them.
 */
async function endAll({ shared, alone, underWay }: Clients, timeout: number): Promise<void> {
  await withinDeadline(Promise.allSettled(underWay), timeout * 1000).catch(() => undefined);
  const left = underWay.size === 0 ? timeout : 0;
  await Promise.all([shared, ...alone].map((sql) => sql.end({ timeout: left })));
}
