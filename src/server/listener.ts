import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer, Server as TlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { Fault, type FaultCode } from "../domain/fault.ts";
import { nextRequestId } from "./exchange.ts";
import { rawResponse } from "./responses.ts";

const MAX_HEADER_BYTES = 16 * 1024;
/** Whoever sends headers slower holds a connection for nothing. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const CHECK_INTERVAL_MS = 2000;
/** Longer than the 60 s of the usual load balancers, so that they end idle connections and not we under their request. */
const KEEP_ALIVE_MS = 65_000;
const BACKLOG = 1024;

const LIMITS = {
  maxHeaderSize: MAX_HEADER_BYTES,
  headersTimeout: HEADERS_TIMEOUT_MS,
  requestTimeout: REQUEST_TIMEOUT_MS,
  connectionsCheckingInterval: CHECK_INTERVAL_MS,
  keepAliveTimeout: KEEP_ALIVE_MS,
  // The front door refuses a missing one, in JSON.
  requireHostHeader: false,
  // A second Authorization would silently be dropped otherwise, and a proxy may have believed that one.
  joinDuplicateHeaders: true,
};

/** What a TLS listener shows to its clients, both in PEM. */
export interface KeyPair {
  /** The certificate and its chain. */
  cert: string;
  key: string;
}

/**
 * A Node server whose every answer is JSON, those that its parser gives before a request exists included.
 * @param pair makes it speak TLS, and nothing else
 */
export function createListener(handle: RequestListener, pair?: KeyPair): Server {
  const server = pair
    ? createTlsServer({ ...LIMITS, ...tlsTerms(pair), handshakeTimeout: HEADERS_TIMEOUT_MS }, guarded(handle))
    : createServer(LIMITS, guarded(handle));
  server.on("clientError", refuseUnparsed);
  server.on("checkExpectation", (req: IncomingMessage, res: ServerResponse) => {
    const refused = refusalText(417, "The Expect header is not supported");
    res.socket?.end(req.method === "HEAD" ? headOf(refused) : refused);
  });
  server.on("connect", (_req, socket: Duplex) => {
    socket.on("error", () => {}).end(refusalText(404, "Not found", "NOT_FOUND"));
  });
  return server;
}

/** Connections from now on see the new certificate; those that are open keep theirs. No effect without TLS. */
export function renewKeyPair(server: Server, pair: KeyPair): void {
  if (server instanceof TlsServer) server.setSecureContext(tlsTerms(pair));
}

/** Stated, because Node's own default gives way to a command-line option. */
function tlsTerms({ cert, key }: KeyPair) {
  return { cert, key, minVersion: "TLSv1.2" } as const;
}

/**
 * Ends connections whose TLS handshake is not done, which no method of an HTTP server knows of.
 * @returns to be called once no more are awaited
 */
export function trackHandshakes(server: Server): () => void {
  const sockets = new Set<Socket>();
  if (server instanceof TlsServer)
    server.on("connection", (socket: Socket) => {
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
    });
  return () => {
    for (const socket of sockets) socket.destroy();
  };
}

/** Starts to listen. Port 0 takes a free one. @throws Fault USAGE when the address cannot be had */
export function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const onError = (cause: NodeJS.ErrnoException): void => {
      const reason = cause.code === "EADDRINUSE" ? "it is in use" : (cause.code ?? cause.message);
      reject(new Fault("USAGE", `Cannot listen on ${host} port ${port}: ${reason}`, { cause }));
    };
    server.once("error", onError).listen({ host, port, backlog: BACKLOG }, () => {
      server.off("error", onError);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** A handler that throws before its first await must cost one connection and not the process. */
function guarded(handle: RequestListener): RequestListener {
  return (req: IncomingMessage, res: ServerResponse) => {
    try {
      handle(req, res);
    } catch {
      const refused = refusalText(400, "The request is not valid");
      res.socket?.end(req.method === "HEAD" ? headOf(refused) : refused);
    }
  };
}

/** What Node's parser refuses: there is no request, so the answer is written by hand. */
function refuseUnparsed(error: NodeJS.ErrnoException, socket: Duplex & { _httpMessage?: ServerResponse | null }): void {
  // A failed handshake comes here too: there is nobody yet who could read an answer.
  if (/^ERR_(SSL|TLS)/.test(error.code ?? "")) return void socket.destroy();
  const pending = socket._httpMessage;
  if (pending?.req.complete) {
    // Garbage after a whole request: its answer is due first, or the client would take our refusal for it.
    pending.once("finish", () => socket.destroy());
    return;
  }
  if (error.code !== "ECONNRESET" && socket.writable && !pending?.headersSent) socket.write(refusalOf(error));
  socket.destroy();
}

function refusalOf({ code }: NodeJS.ErrnoException): string {
  if (code === "HPE_HEADER_OVERFLOW") return refusalText(431, `Headers must be at most ${MAX_HEADER_BYTES} bytes`);
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return refusalText(408, "The request took too long");
  return refusalText(400, "The request is not valid HTTP");
}

/** What of an answer HEAD gets. */
function headOf(answer: string): string {
  return answer.slice(0, answer.indexOf("\r\n\r\n") + 4);
}

function refusalText(status: number, message: string, code: FaultCode = "BAD_REQUEST"): string {
  return rawResponse(status, code, message, nextRequestId());
}
