import type { Need } from "../engine/rows.ts";
import { Client } from "./client.ts";
import { type Batch, commitStatement, type Head } from "./commit.ts";
import { type Connection, type ConnectOptions, connect, type Sql } from "./connect.ts";
import { type Loaded, loadRows } from "./load.ts";

/** The head with the database's clock at the time of reading. */
export interface HeadReading {
  head: Head;
  /** Milliseconds since the epoch. */
  now: number;
}

/**
 * What the sequencer needs of a database. Every method rejects with `StatementFailed` (nothing happened) or
 * `ConnectionLost` (unknown).
 */
export interface Journal {
  readHead(): Promise<HeadReading>;
  load(needs: Need[]): Promise<Loaded[]>;
  /** The one statement. `swapped` is false when the head had moved or the time was up; then nothing was written. */
  commit(batch: Batch): Promise<{ swapped: boolean; now: number }>;
  /** Bumps the epoch, so that no statement still under way can take effect any more, and reads the head. */
  fence(): Promise<HeadReading>;
  /** Whether the entry is in the chain. */
  contains(entry: { seq: bigint; hash: string }): Promise<boolean>;
  /** Runs `work` with the head row locked: the slow path, on which no other writer can overtake. */
  exclusively<T>(work: (reading: HeadReading) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

const HEAD = "seq, hash, epoch, ts, (extract(epoch from clock_timestamp()) * 1000)::float8 as now";

/** What a statement may take beyond the server's own timeout before its connection counts as lost. */
const GRACE_MS = 5000;

/**
 * The journal of a tenant's database. Writes have a connection of their own and are autocommit statements: the driver
 * mixes transactions up when a connection dies inside its `begin`.
 */
export function openJournal(
  connection: Connection,
  options: Pick<ConnectOptions, "synchronous"> & { restricted: boolean; readers?: number },
): Journal {
  const open = (own: ConnectOptions & { statementTimeoutMs: number }) =>
    new Client(
      () => connect(connection, { ...own, restricted: options.restricted }),
      own.statementTimeoutMs + GRACE_MS,
    );
  const durability = options.synchronous ? { synchronous: true } : {};
  const writer = open({ name: "writer", max: 1, statementTimeoutMs: 30_000, genericPlans: true, ...durability });
  const loader = open({ name: "loader", max: options.readers ?? 2, statementTimeoutMs: 10_000 });
  return {
    readHead: () => writer.use((sql) => reading(sql, `select ${HEAD} from head where id = 1`)),
    load: (needs) => loader.use((sql) => loadRows(sql, needs)),
    commit: (batch) => writer.use((sql) => commit(sql, batch)),
    fence: () => writer.use((sql) => reading(sql, `update head set epoch = epoch + 1 where id = 1 returning ${HEAD}`)),
    contains: ({ seq, hash }) =>
      writer.use(async (sql) => {
        const rows = await sql`select 1 from audit where seq = ${String(seq)} and hash = ${hash}`;
        return rows.length === 1;
      }),
    exclusively: (work) => exclusively(writer, work),
    close: async () => {
      await Promise.all([writer.close(), loader.close()]);
    },
  };
}

async function reading(sql: Sql, query: string): Promise<HeadReading> {
  const [row] = await sql.unsafe(query, [], { prepare: true });
  if (!row) throw new Error("The head row is missing");
  const head = { seq: BigInt(row.seq), hash: row.hash, epoch: BigInt(row.epoch), ts: Number(row.ts) };
  return { head, now: row.now };
}

async function commit(sql: Sql, batch: Batch): Promise<{ swapped: boolean; now: number }> {
  const { text, parameters } = commitStatement(batch);
  const [row] = await sql.unsafe(text, parameters, { prepare: true });
  return { swapped: row?.swapped === 1, now: row?.now };
}

/**
 * Plain `begin` and `commit` on the only connection of its client. Should that connection die in between, the commit
 * statement either was rolled back with it or runs alone on the next one, where the head decides as always; the caller
 * confirms with `contains` before it answers anybody.
 */
async function exclusively<T>(writer: Client, work: (reading: HeadReading) => Promise<T>): Promise<T> {
  await writer.use((sql) => sql.unsafe("begin"));
  try {
    const head = await writer.use((sql) => reading(sql, `select ${HEAD} from head where id = 1 for update`));
    const result = await work(head);
    await writer.use((sql) => sql.unsafe("commit"));
    return result;
  } catch (error) {
    await writer.use((sql) => sql.unsafe("rollback")).catch(() => undefined);
    throw error;
  }
}
