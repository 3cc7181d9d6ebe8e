import type { IsSealed } from "../../domain/audit/seal.ts";
import { Fault } from "../../domain/fault.ts";
import { type JournalConnections, openJournal } from "../../ledger/journal.ts";
import { type Connection, type ConnectOptions, classify, connect, StatementFailed } from "../../postgres/connect.ts";
import { type TenantLender, WAIT_MS } from "../../postgres/lending.ts";
import { openPool, type Pool } from "../../postgres/pool.ts";
import { Semaphore } from "../../postgres/semaphore.ts";

/** How connections to a database are to be opened. */
export interface DatabaseTerms {
  /** The server's restricted role may be taken. */
  restricted: boolean;
}

/** The connections of one server, by what they are for. */
export interface Division extends JournalConnections {
  reads: number;
  /** Reads of several statements from one moment, one for each connection at a time. */
  snapshots: number;
  /** Work that no request waits for; with 0 the reads' connections do it. */
  background: number;
  /** What anyone may read; with 0 the reads' connections do it. */
  publicReads: number;
  /** Long reads over the whole log and ledger. */
  checks: number;
}

export const FEWEST_CONNECTIONS = 4;
export const USUAL_CONNECTIONS = 16;
const FEWEST: Division = {
  ...{ writers: 1, loaders: 0, turns: 0, reads: 1, snapshots: 1, publicReads: 0, background: 0, checks: 1 },
};

/**
 * Of a command, which asks for little at a time: all its reads have one connection, and all its writes. A connection costs the
 * database more than most commands do with it.
 */
export const OF_A_COMMAND: Division = { ...FEWEST, reads: 0, turns: 1 };

/** Of a tenant whose connections are lent: what is quiet gives its own back, so there is no need to do without a kind. */
const LENT: Division = { ...FEWEST, loaders: 1, turns: 1, publicReads: 1 };

/** What each further connection is for, in the order of what it is worth. */
const FURTHER: readonly (keyof Division)[] = [
  ...(["publicReads", "loaders", "turns", "background", "writers", "snapshots"] as const),
  ...(["reads", "loaders", "checks", "publicReads", "background", "reads"] as const),
];
/** With that, writing has all that it can use. */
const BEYOND: readonly (keyof Division)[] = ["reads", "reads", "snapshots"];

/** Divides the connections of a server. Pure. @param connections in all, at least 4 */
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
  /** For what anyone may read: its statements are ended early, and it waits for its own connections only. */
  publicReads: Pool;
  background: Pool;
  /** How many are open. */
  count(): number;
}

const READ_TIMEOUT_MS = 10_000;
const PUBLIC_TIMEOUT_MS = 500;
const CHECK_TIMEOUT_MS = 10 * 60_000;
/** How long a read may take beyond PostgreSQL's own timeout, waiting for a connection included. */
const GRACE_MS = 5_000;

/**
 * Opens what a tenant's services speak to the database with. Each part has connections of its own, so that reads wait neither
 * for long checks nor for background work, and a part that reconnects takes none of another: what it left counts until the
 * database has ended it.
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

/** What PostgreSQL answers to a statement that it ends at its timeout. */
const TIMED_OUT = "57014";

/** It says nothing of the database's health. */
function tookTooLong(): Fault {
  const message = "Reading this took too long: try again, a search with fewer words";
  return new Fault("OVERLOADED", message, { status: 503, retryAfterSec: 1 });
}

/** A read that takes too long is refused like one that finds no connection. */
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
