import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import postgres from "postgres";
import { connectTimeoutSec, loginOptions } from "./route/ask-host.ts";
import { dial, failAtClose, NotConnected } from "./route/dial.ts";
import { type Route, routeTo } from "./route/route.ts";
import type { Semaphore } from "./semaphore.ts";

export const CONNECT_TIMEOUT_SEC = 5;

/** A query was waiting for a connection when its client was abandoned: nothing of the query was sent. */
export class ClientLeft extends NotConnected {
  constructor() {
    super(Object.assign(new Error("The client was abandoned"), { code: "CLIENT_LEFT" }));
    this.name = "ClientLeft";
  }
}

/** The functions that stop a client from opening further connections. */
const leaving = new WeakMap<postgres.Sql, () => void>();

/** Abandons a client that another client replaces. Waiting queries fail with `ClientLeft`, and the other client gets its places. */
export function leaveClient(sql: postgres.Sql): void {
  leaving.get(sql)?.();
}

/** The routes of clients that use one. */
const routes = new WeakMap<postgres.Sql, Route>();

/** A statement showed that the server may not be the primary: the next connection looks for the primary again. */
export function leaveServer(sql: postgres.Sql): void {
  routes.get(sql)?.leave();
}

type DriverOptions = postgres.Options<Record<string, never>>;

/** A client whose connections use the route to the database. */
export function clientByRoute(
  { url, pooled }: { url: string; pooled?: boolean | undefined },
  { connection, ...options }: DriverOptions,
  places: Semaphore | undefined,
): postgres.Sql {
  const route = routeTo(url);
  const { address } = route;
  const name = address.parameters.application_name;
  const terms = {
    ...options,
    ...loginOptions(address),
    connect_timeout: connectTimeoutSec(address),
    // The route itself waits between attempts.
    backoff: () => 0,
    // A pooler may answer with the state that its server had an hour ago.
    ...(pooled === false ? { target_session_attrs: "primary" as const } : {}),
    connection: { ...connection, application_name: [connection?.application_name, name].join(" ").trim() },
  };
  const sql = clientOn(() => route.dial(), terms, places);
  routes.set(sql, route);
  return sql;
}

/** A client of one known server, by its port or the directory of its socket. */
export function clientAt(
  server: { host: string; port: number; user: string; database: string },
  options: DriverOptions,
  places: Semaphore | undefined,
): postgres.Sql {
  const open = () => dial(server, undefined, CONNECT_TIMEOUT_SEC * 1000);
  return clientOn(open, { ...options, ...server, password: () => "" }, places);
}

/**
 * How long an abandoned connection keeps its place, unless the server ends it earlier: a commit that waits for a
 * standby keeps its session, and a lost network reports nothing.
 */
const LEFT_MS = 3000;

/** A client whose connections are closed with it. A place is free again once the server has ended the session. */
function clientOn(open: () => Promise<Socket>, options: DriverOptions, places: Semaphore | undefined): postgres.Sql {
  const sockets = new Set<Socket>();
  const left = new AbortController();
  let hasEnded = false;
  const socket = async (): Promise<Duplex> => {
    let giveBack: (() => void) | undefined;
    try {
      const place = await places?.take(left.signal);
      if (place !== undefined) giveBack = () => places?.give(place);
      left.signal.throwIfAborted();
      const opened = await open();
      sockets.add(opened);
      failAtClose(opened);
      opened.once("close", () => {
        sockets.delete(opened);
        giveBack?.();
      });
      // The driver would open a session on it that nothing closes.
      if (hasEnded) leave(opened);
      return opened;
    } catch (error) {
      giveBack?.();
      return failing(error);
    }
  };
  const terms = { ...options, socket };
  const sql = postgres(terms);
  leaving.set(sql, () => left.abort(new ClientLeft()));
  const end = sql.end;
  sql.end = async (terms) => {
    await end(terms);
    leaveClient(sql);
    hasEnded = true;
    for (const opened of sockets) leave(opened);
  };
  return sql;
}

/** Lets the server end a session without making the process wait. */
function leave(socket: Socket): void {
  socket.end().resume().unref();
  setTimeout(() => socket.destroy(), LEFT_MS).unref();
}

/**
 * A connection that fails with an error as soon as something is sent. Without a socket, the driver (postgres 3.4.9)
 * would never use the connection again, nor answer the queries that wait for it.
 */
function failing(error: unknown): Duplex {
  const cause = error instanceof Error ? error : new Error(String(error));
  return new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done(cause) });
}
