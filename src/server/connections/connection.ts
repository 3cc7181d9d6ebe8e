import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { ConnectionLimits } from "../../domain/access/connection-limits.ts";
import type { ConnectionGroup } from "./connection-group.ts";
import { timedOutText } from "./unparsed.ts";

type Seconds = Pick<ConnectionLimits, "headersSeconds" | "bodySeconds" | "idleSeconds" | "writeSeconds">;

/** How long a client may read the error while it is still sending its request. */
const LINGER_MS = 1000;

/** The state of one connection, and since when it is in that state. Times are milliseconds of the monotonic clock. */
export class Connection {
  /** The TCP socket. Under TLS, another socket reads and writes through it. */
  readonly #raw: Socket;
  /** The socket on which requests arrive. */
  socket: Socket;
  /** Kept here, because a closed socket forgets its peer. */
  readonly peer: string;
  /** The connections with which this one is counted, and its bucket there. */
  group: ConnectionGroup<Connection>;
  address: string;
  /** The number of rate limit errors sent. */
  rateRefusals = 0;
  /** Set once the connection's refusal is counted. */
  isNoted = false;
  /** Set when the connection is ending and accepts no further request. */
  leaving = false;
  /** Set when the connection accepts no further request and ends after the answers to the current ones. */
  isFull = false;
  readonly #openedAt: number;
  /** Requests whose answers are not written yet; a client may send several at once. */
  #requests = 0;
  /** The last request, since only its body can still be arriving, and when its headers arrived. */
  #last: { req: IncomingMessage; res: ServerResponse; at: number } | undefined;
  /** Serve the requests that wait for their turn. */
  readonly #waiting: (() => void)[] = [];
  #idleSince: number | undefined;
  /** The unwritten bytes at the last check, and since when they are unchanged. */
  #unwritten: { done: number; queued: number; since: number } | undefined;

  constructor(socket: Socket, now: number, group: ConnectionGroup<Connection>, address: string) {
    this.#raw = socket;
    this.socket = socket;
    this.peer = peerOf(socket);
    this.#openedAt = now;
    this.group = group;
    this.address = address;
    group.add(this);
  }

  /** How many requests wait for the answers ahead of theirs. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** @param serve called once the earlier answers are written; never if the connection ends before */
  begin(req: IncomingMessage, res: ServerResponse, now: number, serve: () => void): void {
    this.#requests += 1;
    this.#last = { req, res, at: now };
    if (this.#requests === 1) serve();
    else this.#waiting.push(serve);
  }

  /** @returns whether no request remains */
  end(now: number): boolean {
    this.#requests -= 1;
    if (this.#requests > 0) {
      // Lets other connections be served in between.
      setImmediate(() => this.#serveNext());
      return false;
    }
    this.#last = undefined;
    this.#idleSince = now;
    return true;
  }

  /** Whether the connection has no complete request, and none that began to arrive after `time`. */
  isIncompleteSince(time: number): boolean {
    if (this.leaving || this.#requests > 1) return false;
    if (this.#last) return !this.#last.req.complete && this.#last.at <= time;
    return (this.#idleSince ?? this.#openedAt) <= time;
  }

  /** Ends the connection once its client has had time to read the answers, since bytes may be unread. */
  endAfterAnswers(): void {
    this.leaving = true;
    this.socket.end();
    closeLater(this.socket);
  }

  /** The limit that the connection exceeds, if any. */
  overdue(seconds: Seconds, now: number): "headers" | "body" | "idle" | "write" | undefined {
    if (now - this.#stalledSince(now) > seconds.writeSeconds * 1000) return "write";
    if (this.leaving) return undefined;
    if (this.#last)
      return !this.#last.req.complete && now - this.#last.at > seconds.bodySeconds * 1000 ? "body" : undefined;
    // Under TLS, Node's own header timeout begins at the end of the handshake.
    if (this.#idleSince === undefined)
      return this.socket !== this.#raw && now - this.#openedAt > seconds.headersSeconds * 1000 ? "headers" : undefined;
    // An occasional empty line restarts Node's timeout between requests.
    const allowedSeconds = seconds.idleSeconds + seconds.headersSeconds;
    return now - this.#idleSince > allowedSeconds * 1000 ? "idle" : undefined;
  }

  /** Ends the connection. A client that sends its body too slowly gets a 408 first. */
  cut(reason: "headers" | "body" | "idle" | "write"): void {
    const { socket } = this;
    // A client that waits for an earlier answer would take this text for that answer.
    const isCurrent = this.#requests === 1 && this.#last?.res.headersSent === false;
    if (reason === "body" && isCurrent && socket.writable) socket.write(timedOutText());
    socket.destroy();
    this.#raw.destroy();
  }

  /**
   * Stops reading a request's body, and ends the connection with the current answer. Node would read and discard the
   * body. Closing at once while bytes are unread would send a reset, which can take the answer away from the client.
   */
  leaveUnread(req: IncomingMessage): void {
    this.leaving = true;
    req.pause();
    // Node discards a body only if it believes that reading it has not begun.
    req.read(0);
    this.#lingerAtEnd();
  }

  /** Stops reading after the last request. All requests so far are answered, and the last answer ends the connection. */
  ignoreRest(): void {
    this.socket.pause();
    this.#lingerAtEnd();
  }

  /** Closing at once while bytes are unread would send a reset. */
  #lingerAtEnd(): void {
    this.socket.destroySoon = () => this.endAfterAnswers();
  }

  #serveNext(): void {
    const serve = this.#waiting.shift();
    if (!this.leaving && this.socket.writable) serve?.();
  }

  /** Since when the peer has read none of its pending bytes; `now` if no bytes are pending or some were read. */
  #stalledSince(now: number): number {
    const { writableLength } = this.socket;
    if (writableLength === 0) {
      this.#unwritten = undefined;
      return now;
    }
    const done = this.socket.bytesWritten - writableLength;
    const queued = queuedBytes(this.#raw);
    const seen = this.#unwritten;
    if (seen && seen.done === done && seen.queued === queued) return seen.since;
    this.#unwritten = { done, queued, since: now };
    return now;
  }
}

/**
 * The bytes still queued in the handle, as Node's own socket timer reads them. Node reports a large write only when all
 * of it is sent, so without this a slow reader would look like one that reads nothing.
 */
function queuedBytes(socket: Socket & { _handle?: { writeQueueSize?: number } | null }): number {
  return socket._handle?.writeQueueSize ?? 0;
}

/** Closes a socket whose last bytes are written, after its client has had time to read them. */
export function closeLater(socket: Socket): void {
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

/** The address and port of the other end, which no two open connections of a listener share. */
export function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
