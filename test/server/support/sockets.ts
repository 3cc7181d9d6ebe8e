import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** A client's connection, and what is known of it. */
export interface Client {
  socket: Socket;
  /** What has arrived. */
  received(): string;
  closed(): boolean;
  /** Resolves once it is closed. */
  end: Promise<void>;
}

/** Opens a connection from an address of this machine. Errors count as its end. */
export async function open(port: number, from = "127.0.0.1", first?: string): Promise<Client> {
  const socket = connect({ port, host: "127.0.0.1", localAddress: from });
  let received = "";
  let isClosed = false;
  const end = new Promise<void>((resolve) => {
    socket
      .on("error", () => {})
      .once("close", () => {
        isClosed = true;
        resolve();
      });
  });
  socket.on("data", (chunk) => {
    received += chunk.toString("latin1");
  });
  await Promise.race([once(socket, "connect").catch(() => {}), end]);
  if (first !== undefined) socket.write(first);
  return { socket, received: () => received, closed: () => isClosed, end };
}

export const HEALTH = "GET /health HTTP/1.1\r\nhost: x\r\n\r\n";
