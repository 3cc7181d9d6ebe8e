import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { Server as TlsServer } from "node:https";
import type { Socket } from "node:net";
import { monotonicMs } from "../../domain/time/clock.ts";
import { commandSockets } from "../exchange.ts";
import { Connection, closeLater, peerOf } from "./connection.ts";
import { ConnectionGroup, type ConnectionTerms } from "./connection-group.ts";
import type { RefusalReason } from "./connection-refusals.ts";

/** Short, because one turn of the event loop ends all overdue connections. */
const LONGEST_CHECK_INTERVAL_MS = 250;
const SHORTEST_CHECK_INTERVAL_MS = 25;
/** The rate limit errors that one connection may get. A client that continues after them ignores `Retry-After`. */
const RATE_REFUSALS = 3;
/** Requests that a connection may send ahead of their answers. With one more, it ends after those answers. */
const MOST_WAITING = 100;

/**
 * The connections of one listener and their limits. Node's own timers end idle connections and slow headers. Four times
 * a second, this class checks what they miss: a handshake without a request, a slow body, a peer that reads nothing.
 */
export class Connections {
  /** Connections that belong to no other group. */
  readonly group: ConnectionGroup<Connection>;
  readonly #open = new Set<Connection>();
  #timer: NodeJS.Timeout | undefined;
  readonly #bySocket = new WeakMap<Socket, Connection>();
  /** Connections that speak TLS, by their peer: Node does not link the decrypted socket to the TCP socket under it. */
  readonly #handshakes = new Map<string, Connection>();

  constructor(terms: ConnectionTerms) {
    this.group = new ConnectionGroup(terms);
  }

  get limits(): ConnectionTerms["limits"] {
    return this.group.terms.limits;
  }

  /** Applies the limits before Node's own handling of a server's connections, so that a refused connection costs no parser. */
  guard(server: Server): void {
    const accept = server.listeners("connection");
    server.removeAllListeners("connection");
    const isTls = server instanceof TlsServer;
    server.on("connection", (socket: Socket) => {
      const connection = this.#admit(socket);
      if (!connection) return;
      if (isTls) this.#handshakes.set(connection.peer, connection);
      for (const each of accept) each.call(server, socket);
    });
    server.on("secureConnection", (socket: Socket) => this.#secure(socket));
    server.on("timeout", (socket: Socket) => {
      this.note("idle", socket);
      socket.destroy();
    });
  }

  /**
   * Counts a connection in another group from now on, because it carried a request for that group's tenant.
   * @returns whether the group has room; without room the connection is ended
   */
  join(socket: Socket, group: ConnectionGroup<Connection>): boolean {
    if (commandSockets.has(socket)) return true;
    const connection = this.#bySocket.get(socket);
    // The client may have left while its request waited.
    if (!connection || !this.#open.has(connection)) return false;
    if (connection.group === group) return true;
    const bucket = group.roomFor(socket.remoteAddress ?? "", (idle) => this.#end(idle));
    if (bucket === undefined) {
      connection.leaving = true;
      socket.destroy();
      return false;
    }
    connection.group.remove(connection);
    connection.group = group;
    connection.address = bucket;
    group.add(connection);
    group.setBusy(connection);
    return true;
  }

  /**
   * Serves a request once the earlier answers are written. A connection serves one request at a time, however many its
   * client sends at once; requests behind a stream of events wait for its end. A request after the connection's last
   * answer is not served.
   */
  begin(req: IncomingMessage, res: ServerResponse, serve: () => void): void {
    const { socket } = req;
    const connection = this.#bySocket.get(socket);
    if (!connection) return void socket.destroy();
    if (connection.leaving || !socket.writable) return;
    // Reading the body of an earlier request makes Node resume, so the pause is repeated.
    if (connection.isFull) return void socket.pause();
    if (connection.waiting >= MOST_WAITING) {
      this.note("rate", socket);
      connection.isFull = true;
      socket.pause();
    }
    connection.group.setBusy(connection);
    // Node emits `close` once for each response; removing the listener would cost as much as the rest of this function.
    res.on("close", () => {
      if (connection.end(monotonicMs()) && this.#open.has(connection)) connection.group.setIdle(connection);
    });
    connection.begin(req, res, monotonicMs(), connection.isFull ? () => connection.endAfterAnswers() : serve);
  }

  /**
   * Counts a rate limit error.
   * @returns whether the connection must end
   */
  refusedByRate(socket: Socket): boolean {
    const connection = this.#bySocket.get(socket);
    if (!connection) return false;
    connection.rateRefusals += 1;
    if (connection.rateRefusals === RATE_REFUSALS) this.note("rate", socket);
    return connection.rateRefusals >= RATE_REFUSALS;
  }

  /** Ends a connection with the answer to a request whose body stays unread. */
  leaveUnread(req: IncomingMessage): void {
    this.#bySocket.get(req.socket)?.leaveUnread(req);
  }

  /** Ignores everything after a connection's last request. */
  ignoreRest(socket: Socket): void {
    this.#bySocket.get(socket)?.ignoreRest();
  }

  /** Reports a refusal that ends a connection, once per connection. */
  note(reason: RefusalReason, socket: Socket): void {
    const connection = this.#bySocket.get(socket) ?? this.#handshakes.get(peerOf(socket));
    if (connection) this.#noteOf(connection, reason);
    else {
      const { onRefused, addresses } = this.group.terms;
      onRefused(reason, addresses.bucketOf(socket.remoteAddress, undefined));
    }
  }

  /** Answers bytes that are not a request, and ends their connection. */
  dismiss(socket: Socket, answer: string): void {
    this.note("malformed", socket);
    const connection = this.#bySocket.get(socket);
    if (connection) connection.leaving = true;
    // Further bytes stay unread.
    socket.pause();
    socket.on("error", () => {}).end(answer);
    closeLater(socket);
  }

  /** Ends the connections without a complete request, unless a request began to arrive after `time`. */
  endIncomplete(time: number): void {
    for (const connection of this.#open) if (connection.isIncompleteSince(time)) connection.cut("body");
  }

  /** Ends all connections, including those in a handshake, which no method of an HTTP server can end. */
  destroyAll(): void {
    for (const connection of this.#open) connection.socket.destroy();
  }

  /** Admits a new connection, or ends it. */
  #admit(raw: Socket): Connection | undefined {
    const { remoteAddress } = raw;
    // The peer has left already.
    if (remoteAddress === undefined) return void raw.destroy();
    const bucket = this.group.roomFor(remoteAddress, (idle) => this.#end(idle));
    if (bucket === undefined) return void raw.destroy();
    const connection = new Connection(raw, monotonicMs(), this.group, bucket);
    this.#open.add(connection);
    this.#bySocket.set(raw, connection);
    raw.once("close", () => this.#forget(connection));
    this.#watch();
    return connection;
  }

  /** Makes room for another connection. */
  #end(connection: Connection): void {
    this.#forget(connection);
    connection.socket.destroy();
  }

  /** After the handshake: the decrypted socket replaces the TCP socket. */
  #secure(socket: Socket): void {
    const connection = this.#handshakes.get(peerOf(socket));
    if (!connection) return void socket.destroy();
    connection.socket = socket;
    this.#bySocket.set(socket, connection);
  }

  #forget(connection: Connection): void {
    if (!this.#open.delete(connection)) return;
    this.#handshakes.delete(connection.peer);
    connection.group.remove(connection);
  }

  /** Checks for overdue connections as long as there are connections. */
  #watch(): void {
    const { headersSeconds, bodySeconds, idleSeconds, writeSeconds } = this.limits;
    const quarterMs = Math.min(headersSeconds, bodySeconds, idleSeconds, writeSeconds) * 250;
    const intervalMs = Math.min(Math.max(quarterMs, SHORTEST_CHECK_INTERVAL_MS), LONGEST_CHECK_INTERVAL_MS);
    this.#timer ??= setInterval(() => {
      this.#check();
      if (this.#open.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    }, intervalMs).unref();
  }

  #check(): void {
    const now = monotonicMs();
    for (const connection of this.#open) {
      const reason = connection.overdue(connection.group.terms.limits, now);
      if (reason === undefined) continue;
      this.#noteOf(connection, reason);
      connection.cut(reason);
    }
  }

  #noteOf(connection: Connection, reason: RefusalReason): void {
    if (connection.isNoted) return;
    connection.isNoted = true;
    connection.group.terms.onRefused(reason, connection.address);
  }
}
