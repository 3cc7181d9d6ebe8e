import { constants, readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { type ConnectionOptions, connect as encrypt, getCACertificates } from "node:tls";
import { type DatabaseAddress, type DatabaseHost, isSocket } from "../../domain/access/database-address.ts";

/** The connection could not be established, so nothing was sent. The message is the cause's own. */
export class NotConnected extends Error {
  override name = "NotConnected";
  readonly code: string;

  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : "The connection cannot be established", { cause });
    this.code = cause instanceof Error && "code" in cause ? String(cause.code) : "NOT_CONNECTED";
  }
}

/** How a connection is encrypted; undefined for none. */
export type Encryption = Pick<ConnectionOptions, "ca" | "rejectUnauthorized" | "checkServerIdentity"> | undefined;

/** Asks a PostgreSQL server whether it encrypts. The answer is one byte, `S` or `N`. */
const TLS_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/**
 * The encryptions that `sslmode` allows for a host, the preferred one first. As in libpq, a certificate is checked
 * whenever `sslrootcert` is given. Without it, `verify-ca` and `verify-full` trust what Node trusts: no file in the
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
  // A named pipe without a writer in place of the file would otherwise block the process for ever.
  return [readFileSync(sslrootcert, { encoding: "utf8", flag: constants.O_RDONLY | constants.O_NONBLOCK })];
}

/**
 * Opens a connection, encrypted if requested.
 * @param timeoutMs undefined for no limit
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
 * Reports an error to the driver when a connection closes, whatever was reported before. The driver (postgres 3.4.9)
 * never answers a query that it gets between a connection's error and its close. And if the server closes a connection
 * before the login, the driver reconnects again and again for its query.
 * @param socket a socket unknown to the driver, which removes all other listeners at the close
 */
export function failAtClose(socket: Socket): void {
  socket.once("close", () => {
    const error = failureOf("CONNECTION_CLOSED", "The database closed the connection");
    // The server has sent nothing, so no login was accepted and no query was sent.
    socket.emit("error", socket.bytesRead === 0 ? new NotConnected(error) : error);
  });
}

/** The name by which the server chooses its certificate; an address is not a name. */
function nameOf(host: string): string {
  return /^[\d.]+$|:/.test(host) ? "" : host;
}

async function requireTls(socket: Socket, { host, port }: DatabaseHost): Promise<void> {
  socket.write(TLS_REQUEST);
  const answer = await happens(socket, "data");
  // Further bytes came from someone other than the server, before the encryption.
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
    // An error between two steps must not end the process; the close that follows reports it.
    socket.on("error", () => undefined).off("error", reject);
  });
}

function failureOf(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
