import { once } from "node:events";
import { type AddressInfo, createServer, Server } from "node:net";
import { Fault } from "../../domain/fault.ts";

/** A port that a server listens on. */
export interface Listening {
  /** As the system names it. */
  readonly address: string;
  readonly port: number;
  /** Takes no new connection from now on; resolves when those that are open have ended. */
  close(): Promise<void>;
}

/** Connections that wait to be accepted; one beyond is tried again by its client a second later. The system may allow less. */
const BACKLOG = 4096;
/**
 * Node accepts one connection of a socket in each turn of its event loop. When many connections send at once, turns are
 * long and the queue overflows; with several sockets on the port, as many connections are accepted in a turn.
 */
export const SOCKETS = 16;

/**
 * Starts to listen. Port 0 takes a free one.
 * @param onError told of what fails later
 * @throws Fault USAGE when the address cannot be had
 */
export async function listen(
  server: Server,
  host: string,
  port: number,
  onError: (error: Error) => void,
): Promise<Listening> {
  const isShared = process.platform === "linux";
  // Sockets that share a port would share it with another server of this user too, so a socket that does not asks first.
  if (isShared && port !== 0) await stop(await open(createServer(), { host, port }));
  const sockets = [await open(server, { host, port, reusePort: isShared })];
  const own = server.address() as AddressInfo;
  try {
    while (isShared && sockets.length < SOCKETS) {
      const { allowHalfOpen, noDelay } = server as Server & { allowHalfOpen: boolean; noDelay: boolean };
      const another = createServer({ allowHalfOpen, noDelay }, (socket) => server.emit("connection", socket));
      await open(another, { host: own.address, port: own.port, reusePort: true });
      sockets.push(another.on("error", onError));
    }
  } catch (error) {
    for (const socket of sockets) void stop(socket);
    throw error;
  }
  return listeningOn(own, sockets);
}

function listeningOn(address: AddressInfo, sockets: readonly Server[]): Listening {
  let closed: Promise<void> | undefined;
  return {
    address: address.address,
    port: address.port,
    close() {
      closed ??= Promise.all(sockets.map(stop)).then(() => {});
      return closed;
    },
  };
}

/** By net's own `close`, since that of `http.Server` cuts connections that look idle although a request is on its way. */
async function stop(socket: Server): Promise<void> {
  const closed = once(socket, "close");
  Server.prototype.close.call(socket);
  await closed;
}

function open(server: Server, where: { host: string; port: number; reusePort?: boolean }): Promise<Server> {
  const { host, port } = where;
  return new Promise((resolve, reject) => {
    const onError = (cause: NodeJS.ErrnoException): void => {
      const reason = cause.code === "EADDRINUSE" ? "it is in use" : (cause.code ?? cause.message);
      reject(new Fault("USAGE", `Cannot listen on ${host} port ${port}: ${reason}`, { cause }));
    };
    server.once("error", onError).listen({ ...where, backlog: BACKLOG }, () => {
      server.off("error", onError);
      resolve(server);
    });
  });
}
