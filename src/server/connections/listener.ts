import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer, Server as TlsServer } from "node:https";
import type { Socket } from "node:net";
import { createSecureContext, type SecureContext, type TlsOptions } from "node:tls";
import type { Connections } from "./connections.ts";
import { refusalText, timedOutText } from "./unparsed.ts";

const MAX_HEADER_BYTES = 16 * 1024;
const PLAIN_HOST = /^[^\s,/?#@\\]*$/;
/** Short, because one turn of the event loop ends all overdue connections. */
const LONGEST_CHECK_INTERVAL_MS = 250;

/** The certificate of a TLS listener and its key, both in PEM. */
export interface KeyPair {
  /** The certificate and its chain. */
  cert: string;
  key: string;
}

/** Certificates by the host name that a client requests. */
export interface NamedKeyPairs {
  /** For clients that request no name or an unknown name. */
  usual: KeyPair;
  forName(name: string): Promise<KeyPair | undefined>;
}

/**
 * A Node server whose every answer is JSON, including the answers of its parser before a request exists.
 * @param connections holds the limits
 * @param tls serve TLS only
 */
export function createListener(
  handle: RequestListener,
  connections: Connections,
  tls?: KeyPair | NamedKeyPairs,
): Server {
  const terms = nodeTerms(connections);
  const answer = guarded(handle, connections);
  const refuse = guarded((req) => {
    const refused = refusalText(417, "The Expect header is not supported");
    connections.dismiss(req.socket, req.method === "HEAD" ? headOf(refused) : refused);
  }, connections);
  const server = tls
    ? createTlsServer(
        { ...terms, ...listenerTls(tls), handshakeTimeout: terms.headersTimeout, allowHalfOpen: true },
        answer,
      )
    : createServer(terms, answer);
  // Node's HTTP servers need this property to answer a client that has ended its side of the connection.
  Object.assign(server, { httpAllowHalfOpen: true });
  connections.guard(server);
  server.on("clientError", (error, socket: Socket) => refuseUnparsed(error, socket, connections));
  server.on("checkExpectation", refuse);
  server.on("connect", ({ socket }: IncomingMessage) => {
    connections.note("malformed", socket);
    if (!endsWithAnswer(socket)) connections.dismiss(socket, refusalText(404, "Not found", "NOT_FOUND"));
  });
  return server;
}

/** The options of Node's own timers and parser. */
function nodeTerms({ limits: { headersSeconds, idleSeconds } }: Connections) {
  const headersTimeout = headersSeconds * 1000;
  return {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout,
    // A body has its own time limit, which starts after the headers.
    requestTimeout: 0,
    connectionsCheckingInterval: Math.min(headersTimeout / 4, LONGEST_CHECK_INTERVAL_MS),
    keepAliveTimeout: idleSeconds * 1000,
    // A missing `Host` is refused by `headFault`, in JSON.
    requireHostHeader: false,
    // Node would silently drop a second Authorization header, which a proxy in front may have accepted.
    joinDuplicateHeaders: true,
    // A request without a body has no stream to end and close, which would take a seventh of a read's CPU.
    optimizeEmptyRequests: true,
  };
}

/** New connections get the new certificate; open ones keep theirs. No effect without TLS. */
export function renewKeyPair(server: Server, pair: KeyPair): void {
  if (server instanceof TlsServer) server.setSecureContext(tlsTerms(pair));
}

function listenerTls(tls: KeyPair | NamedKeyPairs): TlsOptions {
  if (!("forName" in tls)) return tlsTerms(tls);
  const contexts = new WeakMap<KeyPair, SecureContext>();
  return {
    ...tlsTerms(tls.usual),
    SNICallback(name, callback) {
      tls.forName(name).then((pair = tls.usual) => {
        const context = contexts.get(pair) ?? createSecureContext(tlsTerms(pair));
        contexts.set(pair, context);
        callback(null, context);
      }, callback);
    },
  };
}

/** Stated explicitly, because a command-line option can change Node's default. */
function tlsTerms({ cert, key }: KeyPair) {
  return { cert, key, minVersion: "TLSv1.2" } as const;
}

/**
 * Serves a request in its turn. A request that a proxy in front may have read differently ends its connection. A
 * handler that throws before its first await ends only its connection; otherwise it would end the process.
 */
function guarded(handle: RequestListener, connections: Connections): RequestListener {
  return (req: IncomingMessage, res: ServerResponse) =>
    connections.begin(req, res, () => {
      const dismiss = (message: string): void => {
        const refused = refusalText(400, message);
        connections.dismiss(req.socket, req.method === "HEAD" ? headOf(refused) : refused);
      };
      const fault = headFault(req);
      if (fault !== undefined) return dismiss(fault);
      try {
        handle(req, res);
      } catch {
        dismiss("The request is not valid");
      }
    });
}

/**
 * What is wrong with a request's head that Node's parser accepts. Node's own error for a missing `Host` has no body.
 * Its parser also accepts two `Host` headers (joined by a comma here), a value that is not a host, and other codings
 * before `chunked`. A proxy in front may read each of them differently.
 */
function headFault({ headers, httpVersion }: IncomingMessage): string | undefined {
  const { host, "transfer-encoding": coding } = headers;
  if (host === undefined && httpVersion === "1.1") return "A Host header is required";
  if (host !== undefined && !PLAIN_HOST.test(host)) return "The Host header is not a host";
  if (coding !== undefined && coding.toLowerCase() !== "chunked")
    return "The body must be sent in chunks or with Content-Length";
  return undefined;
}

/** Answers bytes that Node's parser refuses. Without a request, the answer is written as text. */
function refuseUnparsed(error: NodeJS.ErrnoException, socket: AnsweringSocket, connections: Connections): void {
  // The last request said `Connection: close`, and Node ends the connection with that answer.
  if (error.code === "HPE_CLOSED_CONNECTION") return void connections.ignoreRest(socket);
  const reason = reasonOf(error);
  if (reason) connections.note(reason, socket);
  // Failed handshakes end here too: without TLS the client cannot read an answer.
  if (/^ERR_(SSL|TLS)/.test(error.code ?? "")) return void socket.destroy();
  if (endsWithAnswer(socket)) return;
  const isAnswering = socket._httpMessage?.headersSent === true;
  if (error.code !== "ECONNRESET" && socket.writable && !isAnswering) socket.write(refusalOf(error));
  socket.destroy();
}

/** A socket as Node's server keeps it, with its current answer. */
type AnsweringSocket = Socket & { _httpMessage?: ServerResponse | null };

/** If garbage follows a complete request, the request is answered first: the client would take our error for that answer. */
function endsWithAnswer(socket: AnsweringSocket): boolean {
  const pending = socket._httpMessage;
  if (!pending?.req.complete) return false;
  pending.once("finish", () => socket.destroy());
  return true;
}

/** Undefined if the client only left, or rejected our certificate. */
function reasonOf({ code = "" }: NodeJS.ErrnoException): "headers" | "malformed" | undefined {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT" || code === "ERR_TLS_HANDSHAKE_TIMEOUT") return "headers";
  return /^(HPE_(?!INVALID_EOF_STATE)|ERR_SSL_(?!.*ALERT))/.test(code) ? "malformed" : undefined;
}

function refusalOf({ code }: NodeJS.ErrnoException): string {
  if (code === "HPE_HEADER_OVERFLOW") return refusalText(431, `Headers must be at most ${MAX_HEADER_BYTES} bytes`);
  return code === "ERR_HTTP_REQUEST_TIMEOUT" ? timedOutText() : refusalText(400, "The request is not valid HTTP");
}

/** The part of an answer that HEAD returns. */
function headOf(answer: string): string {
  return answer.slice(0, answer.indexOf("\r\n\r\n") + 4);
}
