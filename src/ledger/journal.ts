import type { IsSealed } from "../domain/audit/seal.ts";
import { Fault } from "../domain/fault.ts";
import { counted } from "../domain/text.ts";
import type { Need } from "../engine/rows.ts";
import { Client } from "../postgres/client.ts";
import { COMMITS_TO_DISK } from "../postgres/commit-setting.ts";
import { type Connection, type ConnectOptions, connect, type Row, type Sql, Unconfirmed } from "../postgres/connect.ts";
import type { TenantLender } from "../postgres/lending.ts";
import type { Semaphore } from "../postgres/semaphore.ts";
import { type Batch, commitStatement, type Head } from "./commit.ts";
import { type Loaded, loadRows } from "./load.ts";
import { loadTouched } from "./touched.ts";

/** The head, with the database's clock when it was read. */
export interface HeadReading {
  head: Head;
  /** Milliseconds since the epoch. */
  now: number;
}

/**
 * The sequencer's access to a database. Every method rejects with `StatementFailed` (nothing happened) or `Unconfirmed`
 * (the outcome is unknown, as after a lost connection).
 */
export interface Journal {
  readHead(): Promise<HeadReading>;
  /**
   * Reads the head with a write that changes nothing. A read may show data that only this server has. An acknowledged
   * write, and everything committed before it, is wherever the database promises it to be.
   */
  confirmHead(): Promise<HeadReading>;
  load(needs: Need[]): Promise<Loaded[]>;
  /** The single statement, made from the rows at the call. Several run in order. Not `swapped` if the head moved or time was up. */
  commit(batch: Batch): Promise<{ swapped: boolean; now: number }>;
  /** Bumps the epoch, so that no statement still in progress can take effect, and reads the head. */
  fence(): Promise<HeadReading>;
  /** Whether the entry is in the chain. */
  contains(entry: { seq: bigint; hash: string }): Promise<boolean>;
  /**
   * Waits for the turn among processes that write at the same time, and reads the head and the changes since `known`.
   * Commits do not need a turn: turns only prevent collisions.
   */
  takeTurn(known: Head | null): Promise<Turn>;
  /** The changes by another process's trades, see `loadTouched`. */
  loadTouched(from: Head): Promise<Loaded[] | null>;
  /** Runs `work` with the head row locked. This is the slow path, on which no other writer can overtake. */
  exclusively<T>(work: (reading: HeadReading) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export interface Turn {
  reading: HeadReading;
  /** See `loadTouched`; also null if no head was known. */
  touched: Loaded[] | null;
  /** Ends the turn, whatever the state of the connection. */
  end: () => void;
}

const HEAD = "seq, hash, epoch, ts, (extract(epoch from clock_timestamp()) * 1000)::float8 as now";

const STATEMENT_TIMEOUT_MS = 30_000;
const LOAD_TIMEOUT_MS = 10_000;
/** How much longer than the server's own timeout a statement may take before its connection counts as lost. */
const GRACE_MS = 5000;
/**
 * How long the writer waits for an answer, and how much longer for each written row. The server's timeout does not end
 * the wait for a standby, which may be away for hours. A row takes a tenth of this time.
 */
const WRITER_WAIT_MS = 5000;
const ROW_WAIT_MS = 0.25;

/** Connections of a journal. */
export interface JournalConnections {
  /** One is used at a time. The other allows a reconnect before the database has ended the first. */
  writers: number;
  /** With 0, the writer loads rows. */
  loaders: number;
  /** With 0, the journal takes no turns. */
  turns: number;
}

export interface JournalOptions {
  restricted: boolean;
  isSealed: IsSealed;
  connections?: JournalConnections;
  /** Creates the semaphore that limits the connections; no limit by default. */
  group?: (connections: number) => Semaphore;
  /** Lends the connections to all tenants of a database server; by default the journal opens its own. */
  lender?: TenantLender | undefined;
}

const USUAL: JournalConnections = { writers: 1, loaders: 2, turns: 1 };

/**
 * The journal of a tenant's database. Writes have a separate connection and are autocommit statements: the driver mixes
 * transactions up if a connection dies inside its `begin`.
 */
export function openJournal(connection: Connection, options: JournalOptions): Journal {
  const { writers, loaders, turns } = options.connections ?? USUAL;
  const open = (deadlineMs: number, connections: number, own: ConnectOptions) => {
    const places = options.group?.(connections);
    const terms = { ...own, restricted: options.restricted, ...(places ? { places } : {}) };
    const { lender } = options;
    const lend = lender && ((close: () => Promise<unknown>) => lender.loan(own.max, close));
    return new Client(() => connect(connection, terms), deadlineMs, lend);
  };
  const writer = open(WRITER_WAIT_MS, writers, {
    name: "writer",
    max: 1,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    genericPlans: true,
  });
  const loader =
    loaders === 0
      ? writer
      : open(LOAD_TIMEOUT_MS, loaders, { name: "loader", max: loaders, statementTimeoutMs: LOAD_TIMEOUT_MS });
  // On the writer's connection a load may have to wait for a commit.
  const loadWaitMs = (loaders === 0 ? STATEMENT_TIMEOUT_MS : LOAD_TIMEOUT_MS) + GRACE_MS;
  const turn = turns === 0 ? undefined : open(TURN_DEADLINE_MS, turns, { name: "turn", max: 1, genericPlans: true });
  const rewriteHead = (epoch: string) =>
    writer.write((sql) =>
      reading(sql, `update head set epoch = ${epoch} where id = 1 and ${COMMITS_TO_DISK} returning ${HEAD}`),
    );
  return {
    readHead: () => writer.use((sql) => reading(sql, `select ${HEAD} from head where id = 1`)),
    confirmHead: () => rewriteHead("epoch"),
    load: (needs) => loader.use((sql) => loadRows(sql, needs, options.isSealed), loadWaitMs),
    commit: async (batch) => {
      // Created now, since the rows may have changed by the time a connection is free.
      const statement = commitStatement(batch);
      return writer.write((sql) => commit(sql, statement), commitWaitMs(batch));
    },
    fence: () => rewriteHead("epoch + 1"),
    contains: ({ seq, hash }) =>
      writer.use(async (sql) => {
        const rows = await sql`select 1 from audit where seq = ${String(seq)} and hash = ${hash}`;
        return rows.length === 1;
      }),
    takeTurn: turn ? turnsOn(turn) : () => Promise.reject(new Error("The journal has no connection for turns")),
    loadTouched: (from) => loader.use((sql) => loadTouched(sql, from), loadWaitMs),
    exclusively: (work) => exclusively(writer, work),
    close: async () => {
      await Promise.all([writer, loader, turn].map((client) => client?.close()));
    },
  };
}

async function reading(sql: Sql, query: string): Promise<HeadReading> {
  const [row] = await sql.unsafe(query, [], { prepare: true });
  return headOf(row);
}

function headOf(row: Row | undefined): HeadReading {
  if (!row) throw new Fault("INTEGRITY", "Changes are refused: the head row of the log is missing");
  const head = { seq: BigInt(row.seq), hash: row.hash, epoch: BigInt(row.epoch), ts: Number(row.ts) };
  return { head, now: Number(row.now) };
}

function commitWaitMs({ writes, transfers, trades, audit }: Batch): number {
  const rows = writes.length + transfers.length + trades.length + audit.length;
  return Math.min(WRITER_WAIT_MS + rows * ROW_WAIT_MS, STATEMENT_TIMEOUT_MS + GRACE_MS);
}

async function commit(
  sql: Sql,
  { text, parameters }: ReturnType<typeof commitStatement>,
): Promise<{ swapped: boolean; now: number }> {
  return commitAnswer(await sql.unsafe(text, parameters, { prepare: true }));
}

/**
 * Reads the commit statement's answer by value, whatever its type.
 * @throws Unconfirmed if it is not exactly one row, because then the outcome is unknown
 */
export function commitAnswer(rows: readonly Row[]): { swapped: boolean; now: number } {
  const [row] = rows;
  const swapped = String(row?.swapped);
  const now = Number(row?.now ?? Number.NaN);
  if (rows.length !== 1 || !/^[01]$/.test(swapped) || !Number.isFinite(now))
    throw new Unconfirmed(`The commit returned ${counted(rows.length, "row")}, swapped ${swapped}, at ${now}`);
  return { swapped: swapped === "1", now };
}

/** How long a process waits for the turn of a dead process, and how long a stalled process keeps its own. */
const TURN_WAIT_MS = 1500;
const TURN_IDLE_MS = 1000;
const TURN_DEADLINE_MS = 3000;

/**
 * A lock on a separate row, in a transaction that writes nothing. The database grants it to the longest waiting
 * process, and at once if its holder is gone. The settings also work behind a transaction pooler.
 */
function turnsOn(client: Client): Journal["takeTurn"] {
  let ended = Promise.resolve();
  return async (known) => {
    await ended;
    const unpin = await client.pin();
    const end = () => {
      ended = client
        .use((sql) => sql.unsafe("rollback"))
        .then(
          () => undefined,
          () => client.renew(),
        )
        .finally(unpin);
    };
    try {
      return { ...(await takeTurn(client, known)), end };
    } catch (error) {
      end();
      throw error;
    }
  };
}

/** Requests the changes right behind the lock, so that the process can continue as soon as it has the turn. */
async function takeTurn(client: Client, known: Head | null): Promise<Omit<Turn, "end">> {
  const [answers, touched] = await client.use((sql) => {
    const lock = sql.unsafe(`
        begin isolation level read committed;
        set local lock_timeout = ${TURN_WAIT_MS};
        set local idle_in_transaction_session_timeout = ${TURN_IDLE_MS};
        select id from turn for update;
        select ${HEAD} from head where id = 1`);
    // The driver sends a query only when its answer is awaited, so the lock is sent first.
    return Promise.all([lock.execute(), known && loadTouched(sql, known)]);
  });
  return { reading: headOf(answers.flat().at(-1)), touched };
}

/**
 * Plain `begin` and `commit` on the only connection of its client. If that connection dies in between, the commit
 * statement was either rolled back with it, or runs alone on the next connection. There the head decides as always, and
 * the final `commit` causes a warning. The caller confirms with `contains` before it answers.
 */
async function exclusively<T>(writer: Client, work: (reading: HeadReading) => Promise<T>): Promise<T> {
  const unpin = await writer.pin();
  try {
    await writer.write((sql) => sql.unsafe("begin"));
    const head = await writer.use((sql) => reading(sql, `select ${HEAD} from head where id = 1 for update`));
    const result = await work(head);
    const { command } = await writer.write((sql) => sql.unsafe("commit"));
    // A failed transaction answers its commit with ROLLBACK, which is not an error.
    if (command !== "COMMIT") throw new Unconfirmed(`The commit returned ${command}`);
    return result;
  } catch (error) {
    // An open transaction would swallow the later commits.
    await writer.use((sql) => sql.unsafe("rollback")).catch(() => writer.renew());
    throw error;
  } finally {
    unpin();
  }
}
