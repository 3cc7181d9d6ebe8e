import type { IsSealed } from "../domain/audit/seal.ts";
import { Fault } from "../domain/fault.ts";
import type { Need } from "../engine/rows.ts";
import { Client } from "../postgres/client.ts";
import { COMMITS_TO_DISK } from "../postgres/commit-setting.ts";
import { type Connection, type ConnectOptions, connect, type Row, type Sql, Unconfirmed } from "../postgres/connect.ts";
import type { TenantLender } from "../postgres/lending.ts";
import type { Semaphore } from "../postgres/semaphore.ts";
import { type Batch, commitStatement, type Head } from "./commit.ts";
import { type Loaded, loadRows } from "./load.ts";
import { loadTouched } from "./touched.ts";

/** The head with the database's clock at the time of reading. */
export interface HeadReading {
  head: Head;
  /** Milliseconds since the epoch. */
  now: number;
}

/**
 * What the sequencer needs of a database. Every method rejects with `StatementFailed` (nothing happened) or
 * `Unconfirmed` (the outcome is unknown, as after a lost connection).
 */
export interface Journal {
  readHead(): Promise<HeadReading>;
  /**
   * Reads the head by a write that changes nothing. What a read shows may be on this server alone: an acknowledged write
   * is wherever the database promises it to be, and so is all that was committed before it.
   */
  confirmHead(): Promise<HeadReading>;
  load(needs: Need[]): Promise<Loaded[]>;
  /** The one statement, made of the rows as they are at the call. Several run in order. `swapped` is false when the head had moved or the time was up; then nothing was written. */
  commit(batch: Batch): Promise<{ swapped: boolean; now: number }>;
  /** Bumps the epoch, so that no statement still under way can take effect any more, and reads the head. */
  fence(): Promise<HeadReading>;
  /** Whether the entry is in the chain. */
  contains(entry: { seq: bigint; hash: string }): Promise<boolean>;
  /**
   * Waits for the turn among processes that write at the same time, and reads the head and what changed since `known`. Commits
   * do not need it: it only keeps them from meeting.
   */
  takeTurn(known: Head | null): Promise<Turn>;
  /** What trades of another process changed, see `loadTouched`. */
  loadTouched(from: Head): Promise<Loaded[] | null>;
  /** Runs `work` with the head row locked: the slow path, on which no other writer can overtake. */
  exclusively<T>(work: (reading: HeadReading) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export interface Turn {
  reading: HeadReading;
  /** See `loadTouched`; null as well when nothing was known. */
  touched: Loaded[] | null;
  /** Gives it up, whatever the state of the connection. */
  end: () => void;
}

const HEAD = "seq, hash, epoch, ts, (extract(epoch from clock_timestamp()) * 1000)::float8 as now";

const STATEMENT_TIMEOUT_MS = 30_000;
const LOAD_TIMEOUT_MS = 10_000;
/** What a statement may take beyond the server's own timeout before its connection counts as lost. */
const GRACE_MS = 5000;
/**
 * How long the writer waits for an answer, and how much longer for each row that is written. The server's timeout does not
 * end the wait for a standby, which may be away for hours; a row takes a tenth of this.
 */
const WRITER_WAIT_MS = 5000;
const ROW_WAIT_MS = 0.25;

/** Connections of a journal. */
export interface JournalConnections {
  /** One is used at a time; the other lets it reconnect before the database has ended the first. */
  writers: number;
  /** With 0 rows are loaded by the writer. */
  loaders: number;
  /** Without one the journal takes no turns. */
  turns: number;
}

export interface JournalOptions {
  restricted: boolean;
  isSealed: IsSealed;
  connections?: JournalConnections;
  /** Makes the places that bound so many connections; they are not bounded unless given. */
  group?: (connections: number) => Semaphore;
  /** Lends the connections, to all tenants of a database server; they are the journal's own unless given. */
  lender?: TenantLender | undefined;
}

const USUAL: JournalConnections = { writers: 1, loaders: 2, turns: 1 };

/**
 * The journal of a tenant's database. Writes have a connection of their own and are autocommit statements: the driver
 * mixes transactions up when a connection dies inside its `begin`.
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
  // Behind a commit on the writer's connection a load may have to wait for it.
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
      // Made now, since the rows may have changed by the time that a connection is there.
      const statement = commitStatement(batch);
      return writer.write((sql) => commit(sql, statement), commitWaitMs(batch));
    },
    fence: () => rewriteHead("epoch + 1"),
    contains: ({ seq, hash }) =>
      writer.use(async (sql) => {
        const rows = await sql`select 1 from audit where seq = ${String(seq)} and hash = ${hash}`;
        return rows.length === 1;
      }),
    takeTurn: turn ? turnsOn(turn) : () => Promise.reject(new Error("There is no connection to wait for a turn with")),
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
 * What the commit statement answered. Compared by value, whatever type it came in.
 * @throws Unconfirmed when it is not the one row that it must be, so it does not tell what was done
 */
export function commitAnswer(rows: readonly Row[]): { swapped: boolean; now: number } {
  const [row] = rows;
  const swapped = String(row?.swapped);
  const now = Number(row?.now ?? Number.NaN);
  if (rows.length !== 1 || !/^[01]$/.test(swapped) || !Number.isFinite(now))
    throw new Unconfirmed(`The commit was answered by ${rows.length} rows, swapped ${swapped}, at ${now}`);
  return { swapped: swapped === "1", now };
}

/** How long a process waits for the turn of a dead one, and how long a stalled one keeps its own. */
const TURN_WAIT_MS = 1500;
const TURN_IDLE_MS = 1000;
const TURN_DEADLINE_MS = 3000;

/**
 * A lock on a row of its own, in a transaction that writes nothing: the database gives it to the one that has waited longest, and
 * at once when its holder is gone. The settings hold behind a pooler of transactions too.
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

/** What changed is asked for behind the lock, so that the process can go on as soon as it has the turn. */
async function takeTurn(client: Client, known: Head | null): Promise<Omit<Turn, "end">> {
  const [answers, touched] = await client.use((sql) => {
    const lock = sql.unsafe(`
        begin isolation level read committed;
        set local lock_timeout = ${TURN_WAIT_MS};
        set local idle_in_transaction_session_timeout = ${TURN_IDLE_MS};
        select id from turn for update;
        select ${HEAD} from head where id = 1`);
    // The driver sends a query when its answer is asked for, which must not be after the others.
    return Promise.all([lock.execute(), known && loadTouched(sql, known)]);
  });
  return { reading: headOf(answers.flat().at(-1)), touched };
}

/**
 * Plain `begin` and `commit` on the only connection of its client. Should that connection die in between, the commit
 * statement either was rolled back with it or runs alone on the next one, where the head decides as always and the final
 * `commit` is warned about; the caller confirms with `contains` before it answers any caller.
 */
async function exclusively<T>(writer: Client, work: (reading: HeadReading) => Promise<T>): Promise<T> {
  const unpin = await writer.pin();
  try {
    await writer.write((sql) => sql.unsafe("begin"));
    const head = await writer.use((sql) => reading(sql, `select ${HEAD} from head where id = 1 for update`));
    const result = await work(head);
    const { command } = await writer.write((sql) => sql.unsafe("commit"));
    // A transaction that had failed answers its commit with ROLLBACK, which is no error.
    if (command !== "COMMIT") throw new Unconfirmed(`The commit was answered by ${command}`);
    return result;
  } catch (error) {
    // A transaction left open would swallow the commits after it.
    await writer.use((sql) => sql.unsafe("rollback")).catch(() => writer.renew());
    throw error;
  } finally {
    unpin();
  }
}
