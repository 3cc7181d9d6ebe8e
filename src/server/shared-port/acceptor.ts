import { createServer, type Socket } from "node:net";
import { connectionLimits } from "../../domain/access/connection-limits.ts";
import { SECOND_MS } from "../../domain/time/units.ts";
import { ClientAddresses } from "../client-address.ts";
import { ConnectionGroup } from "../connections/connection-group.ts";
import type { Place } from "../connections/connection-table.ts";
import { descriptorLimit } from "../connections/descriptors.ts";
import { type Listening, listen } from "../connections/listening.ts";
import { timedOutText } from "../connections/unparsed.ts";
import { hostOfFirstBytes } from "./first-bytes.ts";

export interface AcceptorOptions {
  host: string;
  port: number;
  /**
   * Takes a connection over, from which nothing more is read.
   * @param head the bytes that were read from it
   * @param host empty where they name none
   */
  onConnection(socket: Socket, head: Buffer, host: string): void;
  onError(error: Error): void;
}

/**
 * Accepts connections and reads from each until it is known which host it is for, since each tenant is served by one of
 * several processes. Newcomers that say nothing are ended after the time for headers, and when there are too many, those
 * first whose address has most.
 * @throws Fault USAGE when the address cannot be listened on
 */
export async function accept({ host, port, onConnection, onError }: AcceptorOptions): Promise<Listening> {
  const limits = connectionLimits({}, descriptorLimit());
  const addresses = new ClientAddresses([]);
  const newcomers = new ConnectionGroup<Newcomer>({ limits, addresses, onRefused: () => {} });
  const server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) => {
    const bucket = newcomers.roomFor(socket.remoteAddress ?? "", (idle) => idle.end());
    if (bucket === undefined) return void socket.destroy();
    const newcomer = new Newcomer(socket, newcomers, bucket);
    const timer = setTimeout(() => newcomer.end(timedOutText()), limits.headersSeconds * SECOND_MS);
    socket
      .on("error", () => {})
      .once("close", () => {
        clearTimeout(timer);
        newcomer.leave();
      });
    let head: Buffer = Buffer.alloc(0);
    socket.on("data", (bytes: Buffer) => {
      head = head.length === 0 ? bytes : Buffer.concat([head, bytes]);
      const named = hostOfFirstBytes(head);
      if (named === undefined) return;
      clearTimeout(timer);
      newcomer.leave();
      stopReading(socket);
      socket.removeAllListeners();
      onConnection(socket, head, named);
    });
  });
  return listen(server, host, port, onError);
}

/** `pause` would go on reading into a buffer of this process, and the bytes in it would be lost to the next one. */
function stopReading(socket: Socket & { _handle?: { readStop?(): void } | null }): void {
  socket._handle?.readStop?.();
}

/** A connection whose host is not known yet. */
class Newcomer {
  readonly #socket: Socket;
  readonly #group: ConnectionGroup<Newcomer>;
  readonly place: Place<Newcomer>;
  #hasLeft = false;

  constructor(socket: Socket, group: ConnectionGroup<Newcomer>, bucket: string) {
    this.#socket = socket;
    this.#group = group;
    this.place = group.table.add(bucket, this);
  }

  /** It is counted no longer. */
  leave(): void {
    if (!this.#hasLeft) this.#group.table.remove(this.place);
    this.#hasLeft = true;
  }

  end(answer?: string): void {
    this.leave();
    if (answer === undefined) this.#socket.destroy();
    else this.#socket.end(answer).destroySoon();
  }
}
