import type { IsSealed } from "../../domain/audit/seal.ts";
import { Fault } from "../../domain/fault.ts";
import { type JournalConnections, openJournal } from "../../ledger/journal.ts";
import { type Connection, type ConnectOptions, classify, connect, StatementFailed } from "../../postgres/connect.ts";
import { type TenantLender, WAIT_MS } from "../../postgres/lending.ts";
import { openPool, type Pool } from "../../postgres/pool.ts";
import { Semaphore } from "../../postgres/semaphore.ts";

/** How to connect to a database. */
export interface DatabaseTerms {
  /** The server's restricted role may be used. */
  restricted: boolean;
}

/** The connections of a server by purpose. */
export interface Division extends JournalConnections {
  reads: number;
  /** Reads of several statements from one snapshot; each connection runs one at a time. */
  snapshots: number;
  /** Work that no request waits for; with 0, the connections for reads do it. */
  background: number;
  /** Public reads; with 0, the connections for reads do them. */
  publicReads: number;
  /** Long reads of the whole log and ledger. */
  checks: number;
}

export const FEWEST_CONNECTIONS = 4;
export const USUAL_CONNECTIONS = 16;
const FEWEST: Division = {
  ...{ writers: 1, loaders: 0, turns: 0, reads: 1, snapshots: 1, publicReads: 0, background: 0, checks: 1 },
};

/**
 * For a command, which runs few statements: one connection for all its reads and one for all its writes. A connection
 * costs the database more than most commands do with it. A walk of the log reads two pages at once: the database fills
 * one while the other waits for its reader.
 */
export const OF_A_COMMAND: Division = { ...FEWEST, reads: 0, turns: 1, checks: 2 };

/** For a tenant with lent connections: idle kinds return theirs, so every kind can have some. */
const LENT: Division = { ...FEWEST, loaders: 1, turns: 1, publicReads: 1 };

/** The purpose of each further connection, most valuable first. */
const FURTHER: readonly (keyof Division)[] = [
  ...(["publicReads", "loaders", "turns", "background", "writers", "snapshots"] as const),
  ...(["reads", "loaders", "checks", "publicReads", "background", "reads"] as const),
];
/** Beyond these, more connections would not speed up writes. */
const BEYOND: readonly (keyof Division)[] = ["reads", "reads", "snapshots"];

/** Divides the connections of a server. Pure. @param connections the total, at least 4 */
export function divideConnections(connections: number): Division {
  const division = { ...FEWEST };
  for (let more = 0; more < connections - FEWEST_CONNECTIONS; more++) {
    const use = FURTHER[more] ?? BEYOND[(more - FURTHER.length) % BEYOND.length];
    if (use) division[use] += 1;
  }
  return division;
}

export interface TenantConnections {
  journal: ReturnType<typeof openJournal>;
  pool: Pool;
  checks: Pool;
  /** For public reads: statements are cancelled early, and wait only for their own connections. */
  publicReads: Pool;
  background: Pool;
  /** The number of open connections. */
  count(): number;
}

const READ_TIMEOUT_MS = 10_000;
const PUBLIC_TIMEOUT_MS = 500;
const CHECK_TIMEOUT_MS = 10 * 60_000;
/** How long a read may exceed PostgreSQL's own timeout, including the wait for a connection. */
const GRACE_MS = 5_000;

/**
 * Opens the database connections of a tenant's services. Each part has its own, so that reads do not wait for long
 * checks or background work. A part that reconnects takes none from another: its abandoned connections count until the
 * database has ended them.
 */
export function openConnections(
  connection: Connection,
  terms: DatabaseTerms & { isSealed: IsSealed },
  {
    lender,
    connections: many = USUAL_CONNECTIONS,
  }: {
    lender?: TenantLender | undefined;
    connections?: number | Division | undefined;
  },
): TenantConnections {
  const own = typeof many === "number" ? divideConnections(many) : many;
  const division = lender ? LENT : own;
  const groups: Semaphore[] = [];
  const group = (connections: number) => {
    const places = new Semaphore(connections);
    groups.push(places);
    return places;
  };
  const poolOf = ({
    max,
    snapshots,
    waitMs,
    ...own
  }: Omit<ConnectOptions, "places"> & { snapshots: number; statementTimeoutMs: number; waitMs?: number }) => {
    const places = group(max + snapshots);
    return openPool((many) => connect(connection, { ...own, max: many, restricted: terms.restricted, places }), {
      ...{ max, snapshots, waitMs, lender, deadlineMs: own.statementTimeoutMs + GRACE_MS },
    });
  };
  const { reads, snapshots, publicReads, background, checks } = division;
  const pool = poolOf({ name: "reader", max: reads, snapshots, statementTimeoutMs: READ_TIMEOUT_MS });
  return {
    journal: openJournal(connection, { ...terms, connections: division, group, lender }),
    pool,
    checks: poolOf({
      ...{ name: "checks", max: 0, snapshots: checks, statementTimeoutMs: CHECK_TIMEOUT_MS, analytical: true },
    }),
    publicReads:
      publicReads === 0
        ? pool
        : endingEarly(
            poolOf({
              ...{ name: "public", max: 0, snapshots: publicReads, statementTimeoutMs: PUBLIC_TIMEOUT_MS },
              waitMs: WAIT_MS,
            }),
          ),
    background:
      background === 0
        ? pool
        : poolOf({ name: "background", max: background, snapshots: 0, statementTimeoutMs: READ_TIMEOUT_MS }),
    count: () => groups.reduce((sum, places) => sum + places.taken, 0),
  };
}

/** PostgreSQL's error code for a statement that timed out. */
const TIMED_OUT = "57014";

/** The error for a slow public read. It says nothing about the database's health. */
function tookTooLong(): Fault {
  const message = "The read took too long: try again, or search with fewer words";
  return new Fault("OVERLOADED", message, { status: 503, retryAfterSec: 1 });
}

/** Reports a read that takes too long like a read that finds no free connection. */
function endingEarly(pool: Pool): Pool {
  const refuse = (error: unknown): never => {
    const failure = classify(error);
    throw failure instanceof StatementFailed && failure.sqlState === TIMED_OUT ? tookTooLong() : error;
  };
  return {
    ...pool,
    read: (query) => pool.read(query).catch(refuse),
    snapshot: (query) => pool.snapshot(query).catch(refuse),
  };
}
