import type { Socket } from "node:net";
import postgres from "postgres";
import type { DatabaseAddress, DatabaseHost } from "../../domain/access/database-address.ts";
import { dial, type Encryption, encryptionsOf, NotConnected } from "./dial.ts";

/** A server, and how to connect to it. */
export interface Server extends DatabaseHost {
  encryption: Encryption;
}

export interface Primary {
  server: Server;
  /** Rises with every promotion: of two servers that claim to be primary, the abandoned one has the lower timeline. */
  timeline: number;
}

/** The answer of one host: a primary, or why it is none. */
export type HostRole = Primary | { problem: unknown };

/** A login refused without checking the password: `pg_hba.conf` has no line for it, encrypted or not. */
const NO_ENTRY = "28000";
const QUERY_TIMEOUT_MS = 5000;

/** The driver's options for the login in an address. */
export function loginOptions({ hosts, user, password, name }: DatabaseAddress) {
  const [only] = hosts.length === 1 ? hosts : [];
  return {
    // Only for error messages: connections come from the route. One host, because with several the driver (postgres
    // 3.4.9) never reports that all are unreachable, and retries without a pause.
    host: only === undefined || /[/:]/.test(only.host) ? "database" : only.host,
    port: only?.port ?? 5432,
    database: name,
    ...(user === "" ? {} : { username: user }),
    // The driver would send `PGPASSWORD` to an address without a password, which the tenant file's author may have
    // chosen. The environment's password must reach no database that its operator did not intend.
    password: () => password,
    ssl: false,
  } satisfies postgres.Options<Record<string, never>>;
}

/** The seconds that a connection may take, in the driver's form: 0 for no limit. */
export function connectTimeoutSec({ parameters }: DatabaseAddress): number {
  return Number(parameters.connect_timeout ?? 5);
}

/** How to connect to a single host: the first encryption with which it accepts the login. */
export async function askAlone(address: DatabaseAddress, host: DatabaseHost): Promise<Server> {
  const [first, ...others] = encryptionsOf(host, address);
  if (others.length === 0) return { ...host, encryption: first };
  return inTurn([first, ...others], async (encryption) => {
    const server = { ...host, encryption };
    await withLogin(address, server, (sql) => sql`select version()`.simple());
    return server;
  });
}

/** Whether a host is a primary that accepts changes. Never throws. */
export async function askHost(address: DatabaseAddress, host: DatabaseHost): Promise<HostRole> {
  const readOnlyWillDo = address.parameters.target_session_attrs !== "read-write";
  try {
    return await inTurn(encryptionsOf(host, address), async (encryption) => {
      const server = { ...host, encryption };
      const [row] = await withLogin(address, server, (sql) =>
        sql<{ standby: boolean; readOnly: boolean; wal: string }[]>`
          select pg_is_in_recovery() as standby,
                 current_setting('transaction_read_only') = 'on' as "readOnly",
                 case when pg_is_in_recovery() then '' else pg_walfile_name(pg_current_wal_lsn()) end as wal`.simple(),
      );
      const shown = `${host.host}:${host.port}`;
      if (!row || row.standby) return { problem: new Error(`${shown} is a standby`) };
      if (row.readOnly && !readOnlyWillDo) return { problem: new Error(`${shown} is read-only`) };
      return { server, timeline: Number.parseInt(row.wal.slice(0, 8), 16) };
    });
  } catch (problem) {
    return { problem };
  }
}

async function withLogin<T>(
  address: DatabaseAddress,
  server: Server,
  work: (sql: postgres.Sql) => PromiseLike<T>,
): Promise<T> {
  const timeoutSec = connectTimeoutSec(address);
  // Opened before the client, whose own `socket` could not report why there is none.
  const socket = await dial(server, server.encryption, timeoutSec === 0 ? undefined : timeoutSec * 1000);
  const options = {
    ...loginOptions(address),
    ...{ max: 1, prepare: false, fetch_types: false, connect_timeout: timeoutSec },
    connection: { application_name: "pmctl route" },
    onnotice: () => undefined,
    socket: () => socket,
  };
  const sql = postgres(options);
  const late = setTimeout(() => socket.destroy(), QUERY_TIMEOUT_MS + timeoutSec * 1000);
  try {
    return await Promise.race([work(sql), untilClosed(socket)]);
  } finally {
    clearTimeout(late);
    await sql.end({ timeout: socket.destroyed ? 0 : 1 });
    socket.destroy();
  }
}

/**
 * The driver (postgres 3.4.9) treats a connection that is closed before its login as still pending, and waits until
 * `connect_timeout`. A load balancer closes a connection like this if the primary has just died.
 */
function untilClosed(socket: Socket): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => undefined);
  socket.once("close", () => reject(new NotConnected(new Error("The server closed the connection"))));
  return promise;
}

/** Tries each encryption in turn. A failure for lack of another encryption leads to the next. */
async function inTurn<T>(ways: readonly Encryption[], work: (way: Encryption) => Promise<T>): Promise<T> {
  let failure: unknown;
  for (const way of ways) {
    try {
      return await work(way);
    } catch (error) {
      const isRefused = error instanceof postgres.PostgresError && error.code === NO_ENTRY;
      const isUnmade = error instanceof NotConnected;
      if (!isRefused && !isUnmade) throw error;
      if (isRefused || failure === undefined) failure = error;
    }
  }
  throw failure;
}
