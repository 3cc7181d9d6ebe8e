import { requestedHost } from "../../domain/access/host-names.ts";

/** As much as a request's head may have, and more than any client's first TLS message. */
const MOST_BYTES = 16 * 1024;

const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const HOST_NAME = 0;

/**
 * The host that a new connection is for, by its first bytes: the name that a TLS client asks for, or the host of the first
 * request.
 * @returns undefined while more bytes are needed; empty where they name none, or are neither TLS nor HTTP
 */
export function hostOfFirstBytes(bytes: Buffer): string | undefined {
  if (bytes.length === 0) return undefined;
  try {
    return bytes[0] === HANDSHAKE ? serverName(bytes) : hostOfHead(bytes);
  } catch (error) {
    // Read beyond what has arrived.
    if (error instanceof RangeError) return bytes.length < MOST_BYTES ? undefined : "";
    throw error;
  }
}

function hostOfHead(bytes: Buffer): string | undefined {
  const text = bytes
    .subarray(0, MOST_BYTES)
    .toString("latin1")
    .replace(/^[\r\n]+/, "");
  if (!/^[A-Za-z-]*( |$)/.test(text)) return "";
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return bytes.length < MOST_BYTES ? undefined : "";
  const [first = "", ...lines] = text.slice(0, end).split("\r\n");
  const header = lines.find((line) => /^host:/i.test(line))?.slice("host:".length);
  return requestedHost(first.split(" ", 2)[1], header?.trim());
}

/** The server name of a ClientHello (RFC 8446, section 4.1.2; RFC 6066, section 3). @throws RangeError for too few bytes */
function serverName(bytes: Buffer): string {
  const hello = new Reader(handshakeOf(bytes));
  if (hello.number(1) !== CLIENT_HELLO) return "";
  const body = hello.part(hello.number(3));
  // The version and the random bytes; then the session, the ciphers and the compressions.
  body.part(2 + 32);
  for (const lengthBytes of [1, 2, 1]) body.part(body.number(lengthBytes));
  if (body.isAtEnd) return "";
  const extensions = body.part(body.number(2));
  while (!extensions.isAtEnd) {
    const type = extensions.number(2);
    const extension = extensions.part(extensions.number(2));
    if (type !== SERVER_NAME) continue;
    const names = extension.part(extension.number(2));
    return names.number(1) === HOST_NAME ? names.part(names.number(2)).text : "";
  }
  return "";
}

/** The handshake's bytes, which may come in several records. */
function handshakeOf(bytes: Buffer): Buffer {
  const fragments: Buffer[] = [];
  for (let at = 0; at + 5 <= bytes.length && bytes[at] === HANDSHAKE; ) {
    const length = bytes.readUInt16BE(at + 3);
    fragments.push(bytes.subarray(at + 5, at + 5 + length));
    at += 5 + length;
  }
  return Buffer.concat(fragments);
}

/** Reads bytes in order. Every method throws a RangeError at the end. */
class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  get text(): string {
    return this.#bytes.toString("latin1");
  }

  /** An unsigned number of so many bytes. */
  number(length: number): number {
    const value = this.#bytes.readUIntBE(this.#at, length);
    this.#at += length;
    return value;
  }

  part(length: number): Reader {
    if (this.#at + length > this.#bytes.length) throw new RangeError("The bytes end early");
    this.#at += length;
    return new Reader(this.#bytes.subarray(this.#at - length, this.#at));
  }
}
