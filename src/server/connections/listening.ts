import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { type AddressInfo, createServer, Server } from "node:net";
import { isSafePort } from "get-port-please";
import { Fault } from "../../domain/fault.ts";
import { listen as openByListhen } from "./listhen.ts";

/** A port that a server listens on. */
export interface Listening {
  /** In the system's notation. */
  readonly address: string;
  readonly port: number;
  /** Stops accepting connections; resolves when the open ones have ended. */
  close(): Promise<void>;
}

/** Connections waiting to be accepted. Beyond this number, a client retries a second later. The system may allow fewer. */
const BACKLOG = 4096;
/**
 * In each turn of its event loop, Node accepts one connection per socket. When many connections send at once, turns are
 * long and the queue overflows. Several sockets on the port accept several connections in each turn.
 */
export const SOCKETS = 16;

/**
 * Starts to listen; port 0 takes a free port. On Linux several sockets share the port, which the first socket must
 * request when it binds. listhen cannot request it, so there it only checks that no other server uses the port.
 * @param onError called for later failures
 * @throws Fault USAGE if the server cannot listen on the address
 */
export async function listen(
  server: Server,
  host: string,
  port: number,
  onError: (error: Error) => void,
): Promise<Listening> {
  if (process.platform !== "linux") return listenOnOneSocket(server, host, port);
  // Sockets that allow sharing would also share the port with another server of this user, so an ordinary socket checks first.
  if (port !== 0) await requireListenable(host, port);
  const sockets = [await open(server, { host, port, reusePort: true })];
  const own = server.address() as AddressInfo;
  try {
    while (sockets.length < SOCKETS) {
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

/**
 * Opens a port and closes it again, so that a caller with much to do before it listens learns early about a problem.
 * Port 0 tests the address only.
 * @throws Fault USAGE if the server cannot listen on the address
 */
export async function requireListenable(host: string, port: number): Promise<void> {
  await once((await openPort(host, port)).close(), "close");
}

/**
 * Starts to listen with one socket, which listhen opens. Port 0 takes a free port.
 * @throws Fault USAGE if the server cannot listen on the address
 */
export async function listenOnOneSocket(server: Server, host: string, port: number): Promise<Listening> {
  const opened = await openPort(host, port);
  // The server takes over the socket, not its connections: limits, handlers and TLS see each connection as usual.
  await once(server.listen(opened, BACKLOG), "listening");
  server.once("close", () => opened.close());
  return listeningOn(server.address() as AddressInfo, [server]);
}

/**
 * Opens a port with listhen. Node opens what listhen would silently replace: listhen uses 3000 instead of a port that
 * browsers refuse, and every address of this machine instead of an address with a zone. Node also retries what listhen
 * could not open, because listhen does not state the reason.
 */
async function openPort(host: string, port: number): Promise<Server> {
  const [{ address } = { address: "%" }] = await lookup(host, { all: true }).catch(() => []);
  if (!address.includes("%") && (port === 0 || isSafePort(port))) {
    const opened = await openByListhen(({ socket }) => void socket.destroy(), {
      hostname: address,
      port: port === 0 ? { random: true } : port,
      // Otherwise listhen replaces a port in use by another one.
      isProd: true,
      // Keeps listhen from printing notes about ports to stdout.
      isTest: true,
      showURL: false,
      autoClose: false,
    }).catch(() => undefined);
    if (opened) return opened.server;
  }
  return open(createServer(), { host, port });
}

/** The URL of a listener, as programs of this machine reach it. */
export function urlOf(scheme: "http" | "https", host: string, port: number): string {
  const reachable = host === "0.0.0.0" || host === "::" ? "localhost" : host;
  return `${scheme}://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`;
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

/** Uses `close` of `net`: that of `http.Server` cuts connections that look idle although a request is on its way. */
async function stop(socket: Server): Promise<void> {
  const closed = once(socket, "close");
  Server.prototype.close.call(socket);
  await closed;
}

function open(server: Server, where: { host: string; port: number; reusePort?: boolean }): Promise<Server> {
  const { host, port } = where;
  return new Promise((resolve, reject) => {
    const onError = (cause: NodeJS.ErrnoException): void => {
      const reason =
        cause.code === "EADDRINUSE"
          ? "it is in use; --port and --ops-port choose others, and pmctl status shows who serves"
          : (cause.code ?? cause.message);
      reject(new Fault("USAGE", `Cannot listen on ${host} port ${port}: ${reason}`, { cause }));
    };
    server.once("error", onError).listen({ ...where, backlog: BACKLOG }, () => {
      server.off("error", onError);
      resolve(server);
    });
  });
}
