import postgres from "postgres";
import { CONNECT_TIMEOUT_SEC, clientAt, clientByRoute } from "./client-sockets.ts";
import type { Semaphore } from "./semaphore.ts";

export type Sql = postgres.Sql;
/**
 * A client or transaction for read-only queries. Functions that change rows require an `Sql`, so they cannot be called
 * where a lost query is sent again.
 */
export type ReadSql = postgres.ISql;
/** A row from the driver; its reader gives the columns their types. */
export type Row = postgres.Row;

/**
 * How to reach a tenant's database: a socket directory or host, or a URL from the environment, possibly through a
 * transaction pooler (`externalConnection`).
 */
export type Connection = (
  | { host: string; port: number; user: string; database: string }
  | {
      /** In the form that `parseDatabaseUrl` reads. */
      url: string;
      /** Undefined if unknown. */
      pooled?: boolean | undefined;
    }
) & {
  /** The database refuses writes in these sessions. A pooler accepts no settings, so behind a pooler it does not. */
  readOnly?: boolean | undefined;
};

/** The group role of the running server: it may add to the journals but never change them. */
export const APP_ROLE = "pmctl_app";

/**
 * How long a statement waits for a lock of another session, such as a forgotten transaction in a shell. Writes are
 * tried twice, which outlasts another process's settlement of 100,000 positions, but not the 5 s that a payment
 * provider waits.
 */
const LOCK_TIMEOUT_MS = 1500;

export interface ConnectOptions {
  /** The name in pg_stat_activity. */
  name: string;
  max: number;
  /** Limits the connections of clients that replace each other: a connection needs a free place. */
  places?: Semaphore;
  /** With a timeout, a session also waits at most `LOCK_TIMEOUT_MS` for each lock. */
  statementTimeoutMs?: number;
  /** Uses the restricted role of the running server. */
  restricted?: boolean;
  /** For the commit statement: it is planned once for all parameters. */
  genericPlans?: boolean;
  /** For long reads of whole tables: memory for their hashes, and no JIT compilation, which takes longer than it saves. */
  analytical?: boolean;
}

/**
 * Opens a client. bigint columns arrive as strings unless a query converts them; instants and versions are read with
 * `Number`, amounts with `BigInt`.
 */
export function connect({ readOnly, ...connection }: Connection, asked: ConnectOptions): Sql {
  // A pooler passes its sessions from client to client, so neither settings nor prepared statements would last. A session
  // that has answered may be passed on although the next query was already sent, so each client sends one query at a time.
  const pooled = "url" in connection && connection.pooled === true;
  const heard = { count: 0, latest: "" };
  const options: postgres.Options<Record<string, never>> = {
    max: asked.max,
    fetch_types: false,
    prepare: !pooled,
    ...(pooled ? { max_pipeline: 0 } : {}),
    connect_timeout: CONNECT_TIMEOUT_SEC,
    max_lifetime: null,
    ...(asked.analytical ? { idle_timeout: 30 } : {}),
    onnotice: ({ severity, routine, message }) => {
      if (severity !== "WARNING" || routine === SESSION_START) return;
      heard.count += 1;
      heard.latest = message ?? "";
    },
    // A short, steady interval: after an outage the service is back within a second of the database.
    backoff: (attempt: number) => Math.min(0.05 * 2 ** attempt, 1),
    connection: { application_name: `pmctl ${asked.name}`, ...(pooled ? {} : sessionSettings(asked, readOnly)) },
  };
  const sql =
    "url" in connection
      ? clientByRoute(connection, options, asked.places)
      : clientAt(connection, options, asked.places);
  warnings.set(sql, heard);
  return sql;
}

/** The server function that issues warnings at the start of a session, such as about another collation version. */
const SESSION_START = "CheckMyDatabase";

/** The number of warnings that a client's connections have received, and the latest. */
const warnings = new WeakMap<Sql, { count: number; latest: string }>();

/**
 * Awaits a write of this client. If a commit is on the server's own disk but not on the required standby, PostgreSQL only
 * sends a warning before a normal answer. The driver receives a connection's messages in order, so this statement's warning
 * arrives before its answer. With several connections the warning may belong to another statement, which only costs a retry.
 * @throws Unconfirmed if a warning arrived
 */
export async function confirmed<T>(sql: Sql, write: PromiseLike<T>): Promise<T> {
  const heard = warnings.get(sql);
  if (!heard) throw new TypeError("Writes are confirmed on clients that connect() opened");
  const before = heard.count;
  const answer = await write;
  if (heard.count > before) throw new Unconfirmed(`The database warned: ${heard.latest}`);
  return answer;
}

/** Runs work on a separate client, which is closed afterwards. */
export async function withClient<Value>(
  connection: Connection,
  options: ConnectOptions,
  work: (sql: Sql) => PromiseLike<Value>,
): Promise<Value> {
  const sql = connect(connection, options);
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** The settings of a session from its start to its end. */
function sessionSettings(
  { statementTimeoutMs, restricted, genericPlans, analytical }: ConnectOptions,
  readOnly: boolean | undefined,
): Record<string, string | number> {
  return {
    ...(readOnly ? { default_transaction_read_only: "on" } : {}),
    ...(statementTimeoutMs === undefined
      ? {}
      : { statement_timeout: statementTimeoutMs, lock_timeout: LOCK_TIMEOUT_MS }),
    // Without warnings, pmctl would mistake a commit that stopped waiting for its standby for a replicated one.
    client_min_messages: "warning",
    // A process that stalls on the slow path must release the head row. A check holds no row, and computes between its reads.
    idle_in_transaction_session_timeout: analytical ? 60_000 : 5000,
    ...(restricted ? { role: APP_ROLE } : {}),
    ...(genericPlans ? { plan_cache_mode: "force_generic_plan", jit: "off" } : {}),
    // The large joins of the checks use ordered keys: merge joins are cheaper than hash joins, which spill to disk.
    ...(analytical ? { work_mem: "64MB", jit: "off", enable_hashjoin: "off" } : {}),
  };
}

/** The statement failed as a whole, and nothing of it is in the database. */
export class StatementFailed extends Error {
  readonly sqlState: string;

  constructor(cause: postgres.PostgresError) {
    super(cause.message, { cause });
    this.name = "StatementFailed";
    this.sqlState = cause.code;
  }

  /** Whether the database refused the data (types, constraints), and not because of its own state. */
  get isAboutData(): boolean {
    return /^(22|23)/.test(this.sqlState);
  }

  /** Whether the same statement may succeed later: out of space, locked, timed out, or a disk problem. */
  get isAboutState(): boolean {
    return this.isConflict || /^(53|55|57|58)/.test(this.sqlState);
  }

  /** Whether it conflicted with another statement (a serialization failure or a deadlock) and should be repeated. */
  get isConflict(): boolean {
    return this.sqlState === "40001" || this.sqlState === "40P01";
  }
}

/** It is unknown whether a sent statement took effect and would survive the loss of this server. */
export class Unconfirmed extends Error {
  override name = "Unconfirmed";
}

/** The connection was lost or refused. */
export class ConnectionLost extends Unconfirmed {
  override name = "ConnectionLost";

  constructor(cause: unknown) {
    super("The connection to the database was lost", { cause });
  }
}

/** Read-only: a standby, or a primary that accepts no changes. Nothing of the statement is in the database. */
const READ_ONLY = "25006";

/** Whether a failure from `classify` is a reason to leave the server and look for the primary. */
export function leavesServer(failure: unknown): boolean {
  return failure instanceof ConnectionLost || (failure instanceof StatementFailed && failure.sqlState === READ_ONLY);
}

/** Converts a driver error to one of the two kinds that the sequencer distinguishes; anything else is our bug and stays. */
export function classify(error: unknown): unknown {
  if (error instanceof postgres.PostgresError) {
    // FATAL and the classes 08 and 57P0x end the connection, and 40003 states an unknown outcome: only the fence can tell.
    const answered = error.severity === "ERROR" && !/^(08|57P|40003)/.test(error.code);
    return answered ? new StatementFailed(error) : new ConnectionLost(error);
  }
  const fromDriver =
    error instanceof Error && "code" in error && typeof error.code === "string" && !("status" in error);
  return fromDriver ? new ConnectionLost(error) : error;
}
