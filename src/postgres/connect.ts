import postgres from "postgres";
import { CONNECT_TIMEOUT_SEC, clientAt, clientByRoute } from "./client-sockets.ts";
import type { Semaphore } from "./semaphore.ts";

export type Sql = postgres.Sql;
/**
 * A client or a transaction for queries that only read. Functions that change rows take an `Sql`, which this is not, so
 * they cannot be called where a lost query is sent again.
 */
export type ReadSql = postgres.ISql;
/** A row as the driver gives it; its reader gives the columns their types. */
export type Row = postgres.Row;

/**
 * How to reach a tenant's database: a socket directory or host, or a URL from the environment, where a pooler of
 * transactions may be in between (`externalConnection`).
 */
export type Connection = (
  | { host: string; port: number; user: string; database: string }
  | {
      /** As `parseDatabaseUrl` reads it. */
      url: string;
      /** Undefined where it is not known. */
      pooled?: boolean | undefined;
    }
) & {
  /** The database refuses every write of these sessions. A pooler takes no settings, so behind one it does not. */
  readOnly?: boolean | undefined;
};

/** Group role that the running server takes: it may add to the journals but never rewrite them. */
export const APP_ROLE = "pmctl_app";

/**
 * How long a statement waits for what another session has locked, such as a transaction forgotten in some shell. Writes
 * are tried twice, which outlasts a settlement of 100,000 positions by another process and not the 5 s that a provider
 * of payments waits.
 */
const LOCK_TIMEOUT_MS = 1500;

export interface ConnectOptions {
  /** Shown in pg_stat_activity. */
  name: string;
  max: number;
  /** Of connections, for clients that follow each other: one is made when there is a place for it. */
  places?: Semaphore;
  /** A session with one waits no longer than `LOCK_TIMEOUT_MS` for each lock either. */
  statementTimeoutMs?: number;
  /** Take the restricted role of the running server. */
  restricted?: boolean;
  /** For the commit statement: it is planned once, whatever the parameters. */
  genericPlans?: boolean;
  /** For long reads over whole tables: room for their hashes, and no compilation that takes longer than it saves. */
  analytical?: boolean;
}

/**
 * Opens a client. bigint columns arrive as strings unless a query converts them; instants and versions are read with
 * `Number`, amounts with `BigInt`.
 */
export function connect({ readOnly, ...connection }: Connection, asked: ConnectOptions): Sql {
  // A pooler hands its sessions from client to client: neither their settings nor their prepared statements would hold,
  // and one that answered is handed on although the next question was under way already, so there is one at a time.
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
    // A short, steady pace: after an outage the service is back within a second of the database.
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

/** The server's function that warns at the start of a session, such as of another version of a collation. */
const SESSION_START = "CheckMyDatabase";

/** How many warnings the connections of a client have received, and the latest. */
const warnings = new WeakMap<Sql, { count: number; latest: string }>();

/**
 * Awaits a write of this client. PostgreSQL tells only by a warning, ahead of an answer like any other, that a commit is on
 * its own disk and not on the standby that it had to wait for. The driver hears all of a connection in order, so a warning
 * of this statement has arrived when its answer has; with several connections it may belong to another statement, which only costs a retry.
 * @throws Unconfirmed when a warning came
 */
export async function confirmed<T>(sql: Sql, write: PromiseLike<T>): Promise<T> {
  const heard = warnings.get(sql);
  if (!heard) throw new TypeError("Writes are confirmed on clients that connect() opened");
  const before = heard.count;
  const answer = await write;
  if (heard.count > before) throw new Unconfirmed(`The database warned: ${heard.latest}`);
  return answer;
}

/** Runs work on a client of its own, which is closed afterwards. */
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
    // With warnings off, pmctl would take a commit that stopped waiting for its standby for one that the standby has.
    client_min_messages: "warning",
    // A process that stalls on the slow path gives the head row back.
    idle_in_transaction_session_timeout: 5000,
    ...(restricted ? { role: APP_ROLE } : {}),
    ...(genericPlans ? { plan_cache_mode: "force_generic_plan", jit: "off" } : {}),
    // The large joins of the checks are over keys in order: merging them is cheaper than hashing, which spills.
    ...(analytical ? { work_mem: "64MB", jit: "off", enable_hashjoin: "off" } : {}),
  };
}

/** The statement failed as a whole and nothing of it is in the database. */
export class StatementFailed extends Error {
  readonly sqlState: string;

  constructor(cause: postgres.PostgresError) {
    super(cause.message, { cause });
    this.name = "StatementFailed";
    this.sqlState = cause.code;
  }

  /** Whether the database refused its data (types, constraints), and not because of the state that it is in. */
  get isAboutData(): boolean {
    return /^(22|23)/.test(this.sqlState);
  }

  /** Whether the same statement may succeed later: no room, no lock, no time, no disk. */
  get isAboutState(): boolean {
    return this.isConflict || /^(53|55|57|58)/.test(this.sqlState);
  }

  /** Whether it met another one at the same rows (a serialization failure, a deadlock), and should be repeated. */
  get isConflict(): boolean {
    return this.sqlState === "40001" || this.sqlState === "40P01";
  }
}

/** Whether a statement that was sent took effect, and would outlive this server, is not known. */
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

/** Read-only: a standby, or a primary that was told to take no changes. Nothing of the statement is in the database. */
const READ_ONLY = "25006";

/** Whether a failure, as `classify` gives it, is a reason to leave the server for wherever the primary is now. */
export function leavesServer(failure: unknown): boolean {
  return failure instanceof ConnectionLost || (failure instanceof StatementFailed && failure.sqlState === READ_ONLY);
}

/** Sorts a driver error into the two kinds that the sequencer treats differently; anything else is our bug and stays. */
export function classify(error: unknown): unknown {
  if (error instanceof postgres.PostgresError) {
    // FATAL and classes 08 and 57P0x end the connection, and 40003 says so itself: only the fence tells what happened.
    const answered = error.severity === "ERROR" && !/^(08|57P|40003)/.test(error.code);
    return answered ? new StatementFailed(error) : new ConnectionLost(error);
  }
  const fromDriver =
    error instanceof Error && "code" in error && typeof error.code === "string" && !("status" in error);
  return fromDriver ? new ConnectionLost(error) : error;
}
