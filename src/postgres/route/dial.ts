import { constants, readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { type ConnectionOptions, connect as encrypt, getCACertificates } from "node:tls";
import { type DatabaseAddress, type DatabaseHost, isSocket } from "../../domain/access/database-address.ts";

/** A connection could not be made, so nothing was sent on it. The message is the cause's own. */
export class NotConnected extends Error {
  override name = "NotConnected";
  readonly code: string;

  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : "The connection cannot be made", { cause });
    this.code = cause instanceof Error && "code" in cause ? String(cause.code) : "NOT_CONNECTED";
  }
}

/** How a connection is encrypted; undefined for one that is not. */
export type Encryption = Pick<ConnectionOptions, "ca" | "rejectUnauthorized" | "checkServerIdentity"> | undefined;

/** What asks a PostgreSQL whether it encrypts: it answers one byte, `S` or `N`. */
const TLS_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/**
 * The ways in which `sslmode` lets a host be spoken to, the preferred one first. As in libpq a certificate is checked
 * wherever `sslrootcert` says by what. Without it, `verify-ca` and `verify-full` trust what Node trusts: no file of the
 * home folder is read.
 */
export function encryptionsOf(
  { host }: DatabaseHost,
  { parameters }: Pick<DatabaseAddress, "parameters">,
): Encryption[] {
  const { sslrootcert } = parameters;
  const sslmode = parameters.sslmode ?? (sslrootcert === "system" ? "verify-full" : "prefer");
  if (isSocket(host) || sslmode === "disable") return [undefined];
  const isChecked = sslrootcert !== undefined || sslmode.startsWith("verify-");
  const encrypted: Encryption = {
    rejectUnauthorized: isChecked,
    ...(sslrootcert === undefined ? {} : { ca: certificatesOf(sslrootcert) }),
    ...(sslmode === "verify-full" ? {} : { checkServerIdentity: () => undefined }),
  };
  if (sslmode === "allow") return [undefined, encrypted];
  return sslmode === "prefer" ? [encrypted, undefined] : [encrypted];
}

function certificatesOf(sslrootcert: string): string[] {
  if (sslrootcert === "system") return getCACertificates("system");
  // A pipe that was put in the file's place, without a writer, would stop the process for ever.
  return [readFileSync(sslrootcert, { encoding: "utf8", flag: constants.O_RDONLY | constants.O_NONBLOCK })];
}

/**
 * Opens a connection, encrypted where that is asked for.
 * @param timeoutMs undefined for any time
 * @throws NotConnected
 */
export async function dial(server: DatabaseHost, encryption: Encryption, timeoutMs?: number): Promise<Socket> {
  const { host, port } = server;
  const plain = isSocket(host) ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  let socket = plain;
  const failure = Promise.withResolvers<never>();
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(
          () => failure.reject(failureOf("CONNECT_TIMEOUT", `No connection to ${host}:${port} in ${timeoutMs} ms`)),
          timeoutMs,
        );
  try {
    await Promise.race([happens(plain, "connect"), failure.promise]);
    if (encryption !== undefined) {
      await Promise.race([requireTls(plain, server), failure.promise]);
      socket = encrypt({ ...encryption, socket: plain, host, servername: nameOf(host) });
      await Promise.race([happens(socket, "secureConnect"), failure.promise]);
    }
    return socket;
  } catch (error) {
    socket.destroy();
    plain.destroy();
    throw new NotConnected(error);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Reports an error to the driver with the close of a connection, whatever was reported before. The driver (postgres 3.4.9)
 * answers neither a query that it is given between a connection's error and its close, nor one for which it opened a
 * connection that the server closes before the login: for that one it connects again and again.
 * @param socket that the driver has not heard of yet, since it takes all other listeners off at the close
 */
export function failAtClose(socket: Socket): void {
  socket.once("close", () => {
    const error = failureOf("CONNECTION_CLOSED", "The database closed the connection");
    // Without a word of the server no login was accepted, so no query was sent.
    socket.emit("error", socket.bytesRead === 0 ? new NotConnected(error) : error);
  });
}

/** A name for the server's choice of certificate; an address is none. */
function nameOf(host: string): string {
  return /^[\d.]+$|:/.test(host) ? "" : host;
}

async function requireTls(socket: Socket, { host, port }: DatabaseHost): Promise<void> {
  socket.write(TLS_REQUEST);
  const answer = await happens(socket, "data");
  // Anything behind the answer came from another than the server, and before the encryption.
  if (!Buffer.isBuffer(answer) || answer.length !== 1 || answer[0] !== 0x53)
    throw failureOf("NO_TLS", `${host}:${port} does not encrypt connections`);
}

function happens(socket: Socket, event: "connect" | "secureConnect" | "data"): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const closed = () => reject(failureOf("CONNECTION_CLOSED", "The server closed the connection"));
  socket.once(event, resolve).once("error", reject).once("close", closed);
  return promise.finally(() => {
    if (event === "data") socket.pause();
    socket.off(event, resolve).off("close", closed);
    // An error between two steps must not end the process; the close behind it tells.
    socket.on("error", () => undefined).off("error", reject);
  });
}

function failureOf(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
